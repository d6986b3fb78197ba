/*
 * schema -- parse signatures in ATen's schema language.
 *
 *     conv2d(Tensor input, Tensor weight, Tensor? bias=None,
 *            SymInt[2] stride=1, *, bool x=False) -> (Tensor out, Tensor)
 *
 * The parser makes one pass; all memory is in one arena.
 */
#include <stdio.h>
#include <stdlib.h>

#include "op/op_impl.h"

#define SEQ_KINDS (1u << CFX_TUPLE | 1u << CFX_LIST)

struct type_name {
    const char *name;
    cfx_type_base base;
    uint32_t kinds;
};

static const struct type_name type_names[] = {
    {"Tensor", CFX_T_TENSOR, 1u << CFX_TENSOR},
    {"int", CFX_T_INT, 1u << CFX_INT}, /* not a symbol: an axis or mode */
    {"SymInt", CFX_T_INT, 1u << CFX_INT | 1u << CFX_SYMINT},
    {"float", CFX_T_FLOAT, 1u << CFX_FLOAT | 1u << CFX_INT},
    {"bool", CFX_T_BOOL, 1u << CFX_BOOL_VALUE},
    {"str", CFX_T_STR, 1u << CFX_STR},
    {"Scalar", CFX_T_SCALAR, CFX_NUMBER_KINDS},
    {"ScalarType", CFX_T_DTYPE, 1u << CFX_DTYPE},
    {"Device", CFX_T_DEVICE, 1u << CFX_DEVICE | 1u << CFX_STR},
    {"Layout", CFX_T_LAYOUT, 1u << CFX_LAYOUT},
    {"MemoryFormat", CFX_T_FORMAT, 1u << CFX_MEMORY_FORMAT},
    {"Generator", CFX_T_GENERATOR, 0},
    {"any", CFX_T_ANY, ~1u},
};

struct reader {
    const char *at, *text;
    cfx_arena *arena;
    cfx_error *err;
};

static cfx_status bad(struct reader *r, const char *what)
{
    return cfx_fail(r->err, CFX_EPARSE, "schema '%s': %s at column %d",
                    r->text, what, (int)(r->at - r->text) + 1);
}

static void skip_spaces(struct reader *r)
{
    while (*r->at == ' ' || *r->at == '\n')
        r->at++;
}

static bool take(struct reader *r, const char *token)
{
    skip_spaces(r);
    size_t n = strlen(token);
    if (strncmp(r->at, token, n))
        return false;
    r->at += n;
    return true;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
}

static size_t word_length(struct reader *r)
{
    skip_spaces(r);
    size_t n = 0;
    while (is_word(r->at[n]))
        n++;
    return n;
}

static cfx_status read_word(struct reader *r, const char **out)
{
    size_t n = word_length(r);
    if (!n)
        return bad(r, "a name is missing");
    *out = cfx_arena_strdup(r->arena, r->at, n);
    r->at += n;
    return *out ? CFX_OK : cfx_no_memory(r->err);
}

/* "(a)", "(a!)" or "(a -> *)" after Tensor. */
static cfx_status read_alias(struct reader *r, cfx_param *p)
{
    if (!take(r, "("))
        return CFX_OK;
    p->alias = true;
    while (*r->at && *r->at != ')') {
        if (*r->at == '!')
            p->writes = true;
        r->at++;
    }
    return take(r, ")") ? CFX_OK : bad(r, "')' is missing");
}

static const struct type_name *read_type_name(struct reader *r)
{
    size_t n = word_length(r);
    for (size_t i = 0; i < sizeof(type_names) / sizeof(*type_names); i++)
        if (strlen(type_names[i].name) == n &&
            !memcmp(type_names[i].name, r->at, n)) {
            r->at += n;
            return &type_names[i];
        }
    return NULL;
}

static cfx_status read_type(struct reader *r, cfx_param *p, bool *operand)
{
    const struct type_name *t = read_type_name(r);
    if (!t)
        return bad(r, "unknown type");
    p->base = (uint8_t)t->base;
    p->kinds = t->kinds;
    if (read_alias(r, p))
        return CFX_EPARSE;
    bool question = take(r, "?");
    if (take(r, "[")) {
        p->list = true;
        p->item_optional = question;
        question = false;
        /* An extension of ATen's syntax: Python's *tensors. */
        p->rest = take(r, "*");
        if (*r->at >= '1' && *r->at <= '9')
            p->list_size = (uint8_t)(*r->at++ - '0');
        if (!take(r, "]"))
            return bad(r, "']' is missing");
        question = take(r, "?");
        p->item_kinds = t->kinds | (p->item_optional ? 1u << CFX_NONE : 0);
        p->kinds = SEQ_KINDS | (p->list_size ? t->kinds : 0);
    }
    /* Extensions of ATen's syntax, for what Python takes: padding="same"
     * instead of numbers, or a number instead of a tensor. `Tensor/Scalar`
     * stands for overloads of which none has numbers only. */
    *operand = take(r, "/");
    if (*operand || take(r, "|")) {
        const struct type_name *other = read_type_name(r);
        if (!other)
            return bad(r, "unknown type");
        p->kinds |= other->kinds;
        question = question || take(r, "?");
    }
    p->optional = question;
    if (question || t->base == CFX_T_GENERATOR)
        p->kinds |= 1u << CFX_NONE;
    return CFX_OK;
}

static cfx_value arena_seq(struct reader *r, cfx_kind kind, size_t n,
                           const cfx_value *item)
{
    cfx_seq *s = cfx_arena_alloc(r->arena, sizeof(*s) + n * sizeof(*item));
    if (!s)
        return CFX_NOTHING;
    *s = (cfx_seq){.len = (uint32_t)n};
    if (n)
        memcpy(s->item, item, n * sizeof(*item));
    return (cfx_value){.kind = (uint8_t)kind, .u.seq = s};
}

static cfx_value arena_str(struct reader *r, const char *text, size_t len)
{
    cfx_string *s = cfx_arena_alloc(r->arena, sizeof(*s) + len + 1);
    if (!s)
        return CFX_NOTHING;
    *s = (cfx_string){.len = (uint32_t)len};
    memcpy(s->text, text, len);
    s->text[len] = '\0';
    return (cfx_value){.kind = CFX_STR, .u.str = s};
}

static cfx_status read_number(struct reader *r, cfx_value *out)
{
    char *end;
    double f = cfx_strtod(r->at, &end);
    if (end == r->at)
        return bad(r, "a value is missing");
    *out = cfx_float(f);
    if (!memchr(r->at, '.', (size_t)(end - r->at)) &&
        !memchr(r->at, 'e', (size_t)(end - r->at)))
        *out = cfx_int(strtoll(r->at, NULL, 10));
    r->at = end;
    return CFX_OK;
}

/* An identifier: None, True, a dtype, a memory format. */
static cfx_status read_named(struct reader *r, cfx_value *out)
{
    const char *word;
    cfx_dtype dtype;
    if (read_word(r, &word))
        return CFX_EPARSE;
    if (!strcmp(word, "None"))
        *out = cfx_none();
    else if (!strcmp(word, "True") || !strcmp(word, "False"))
        *out = cfx_bool(*word == 'T');
    else if (!strcmp(word, "inf"))
        *out = cfx_float(1e308 * 10);
    else if (!strcmp(word, "contiguous_format"))
        *out = cfx_value_of_format(CFX_CONTIGUOUS_FORMAT);
    else if (!strcmp(word, "preserve_format"))
        *out = cfx_value_of_format(CFX_PRESERVE_FORMAT);
    else if (cfx_dtype_parse(&dtype, word))
        *out = cfx_value_of_dtype(dtype);
    else
        return bad(r, "unknown default");
    return CFX_OK;
}

static cfx_status read_value(struct reader *r, cfx_value *out);

static cfx_status read_list(struct reader *r, const char *close, cfx_kind kind,
                            cfx_value *out)
{
    cfx_value item[8];
    size_t n = 0;
    while (!take(r, close)) {
        if (n == 8)
            return bad(r, "a default of too many items");
        if (read_value(r, &item[n++]))
            return CFX_EPARSE;
        take(r, ",");
    }
    *out = arena_seq(r, kind, n, item);
    return out->kind ? CFX_OK : cfx_no_memory(r->err);
}

/* The nesting of lists is bounded by the schemas' text. */
static cfx_status read_value(struct reader *r, cfx_value *out)
{
    skip_spaces(r);
    char c = *r->at;
    if (c == '\'' || c == '"') {
        const char *end = strchr(r->at + 1, c);
        if (!end)
            return bad(r, "a quote is missing");
        *out = arena_str(r, r->at + 1, (size_t)(end - r->at) - 1);
        r->at = end + 1;
        return out->kind ? CFX_OK : cfx_no_memory(r->err);
    }
    if (c == '[' || c == '(') {
        r->at++;
        return read_list(r, c == '[' ? "]" : ")",
                         c == '[' ? CFX_LIST : CFX_TUPLE, out);
    }
    if ((c >= '0' && c <= '9') || c == '-' || c == '.')
        return read_number(r, out);
    return read_named(r, out);
}

/* A single number as the default of int[2] is repeated. */
static cfx_status spread_default(struct reader *r, cfx_param *p)
{
    if (!p->list || !p->list_size || cfx_value_is_seq(p->init) ||
        p->init.kind == CFX_NONE)
        return CFX_OK;
    cfx_value item[9];
    for (int i = 0; i < p->list_size; i++)
        item[i] = p->init;
    p->init = arena_seq(r, CFX_TUPLE, p->list_size, item);
    return p->init.kind ? CFX_OK : cfx_no_memory(r->err);
}

static cfx_status read_param(struct reader *r, cfx_param *p, bool *operand)
{
    if (read_type(r, p, operand) || read_word(r, &p->name))
        return CFX_EPARSE;
    p->required = p->base != CFX_T_GENERATOR;
    p->init = cfx_none();
    if (!take(r, "="))
        return CFX_OK;
    p->required = false;
    if (read_value(r, &p->init))
        return CFX_EPARSE;
    if (p->base == CFX_T_FLOAT && p->init.kind == CFX_INT)
        p->init = cfx_float((double)p->init.u.i);
    return spread_default(r, p);
}

/* The position of the first parameter with one of the names, or -1. */
static int place_of_any(const cfx_param *list, int n, const char *names)
{
    for (int k = 0; k < n; k++) {
        size_t len = strlen(list[k].name), word;
        for (const char *p = names; *p; p += word, p += strspn(p, " ")) {
            word = strcspn(p, " ");
            if (word == len && !memcmp(p, list[k].name, len))
                return k;
        }
    }
    return -1;
}

static cfx_status read_params(struct reader *r, cfx_schema *s)
{
    cfx_param list[CFX_MAX_PARAMS] = {{0}};
    bool keyword = false;
    s->npositional = -1;
    if (!take(r, "("))
        return bad(r, "'(' is missing");
    while (!take(r, ")")) {
        if (take(r, "*")) {
            keyword = true;
            s->npositional = s->nparams;
        } else if (s->nparams == CFX_MAX_PARAMS) {
            return bad(r, "too many parameters");
        } else {
            cfx_param *p = &list[s->nparams++];
            bool operand;
            p->kwarg_only = keyword;
            if (read_param(r, p, &operand))
                return CFX_EPARSE;
            s->operands |= (uint32_t)operand << (s->nparams - 1);
        }
        skip_spaces(r);
        if (!take(r, ",") && *r->at != ')')
            return bad(r, "',' is missing");
    }
    if (s->npositional < 0)
        s->npositional = s->nparams;
    s->training = place_of_any(list, s->nparams,
                               "training train use_input_stats");
    s->dropout_p = place_of_any(list, s->nparams, "dropout_p");
    for (int k = 0; k < s->nparams; k++)
        if ((list[k].kinds | list[k].item_kinds) >> CFX_TENSOR & 1)
            s->tensors |= 1u << k;
    size_t bytes = (size_t)s->nparams * sizeof(*list);
    cfx_param *p = cfx_arena_alloc(r->arena, bytes + 1);
    if (!p)
        return cfx_no_memory(r->err);
    memcpy(p, list, bytes);
    s->params = p;
    return CFX_OK;
}

/* Build the named tuple, if all results have names and are not arguments. */
static cfx_status name_result(struct reader *r, cfx_schema *s, cfx_buf *fields)
{
    cfx_named_tuple *t = cfx_arena_alloc(r->arena, sizeof(*t));
    size_t n = strlen(s->name) + 32;
    char *name = cfx_arena_alloc(r->arena, n);
    char *words = cfx_arena_strdup(r->arena, cfx_buf_str(fields), fields->len);
    if (!t || !name || !words)
        return cfx_no_memory(r->err);
    snprintf(name, n, "torch.return_types.%s%s", s->name,
             s->returns_written ? "_out" : "");
    *t = (cfx_named_tuple){name, words};
    s->result = t;
    return CFX_OK;
}

static cfx_status read_return(struct reader *r, cfx_schema *s, cfx_buf *fields)
{
    cfx_param p = {0};
    bool operand;
    if (read_type(r, &p, &operand))
        return CFX_EPARSE;
    s->returns_alias |= p.alias;
    s->returns_written |= p.writes;
    if (p.list)
        s->nreturns = -1;
    else if (s->nreturns >= 0)
        s->nreturns++;
    size_t n = word_length(r);
    if (n && fields->len)
        cfx_buf_putc(fields, ' ');
    cfx_buf_add(fields, r->at, n);
    r->at += n;
    return CFX_OK;
}

static cfx_status read_returns(struct reader *r, cfx_schema *s)
{
    cfx_buf fields;
    cfx_status st = CFX_OK;
    cfx_buf_init(&fields, r->arena->ctx);
    if (!take(r, "->")) {
        st = bad(r, "'->' is missing");
    } else if (take(r, "(")) {
        while (!st && !take(r, ")")) {
            st = read_return(r, s, &fields);
            take(r, ",");
        }
        if (!st && fields.len && s->nreturns > 1)
            st = name_result(r, s, &fields);
    } else {
        st = read_return(r, s, &fields);
    }
    cfx_buf_release(&fields);
    skip_spaces(r);
    return st ? st : *r->at ? bad(r, "unexpected text") : CFX_OK;
}

cfx_status cfx_schema__read(cfx_schema **out, cfx_arena *arena,
                            const char *text, bool full_name, cfx_error *err)
{
    struct reader r = {text, text, arena, err};
    cfx_schema *s = cfx_arena_alloc(arena, sizeof(*s));
    if (!s)
        return cfx_no_memory(err);
    *s = (cfx_schema){.text = text, .overload = ""};
    size_t n = strcspn(text, "(");
    size_t cut = full_name ? n : strcspn(text, ".(");
    s->name = cfx_arena_strdup(arena, text, cut);
    if (cut < n)
        s->overload = cfx_arena_strdup(arena, text + cut + 1, n - cut - 1);
    if (!s->name || !s->overload)
        return cfx_no_memory(err);
    r.at = text + n;
    cfx_status st = read_params(&r, s);
    if (!st)
        st = strchr(r.at, '>') ? read_returns(&r, s) : CFX_OK;
    if (st)
        return err && err->code ? err->code : CFX_EPARSE;
    *out = s;
    return CFX_OK;
}

/* A copy of a schema with parameters of its own. */
static cfx_schema *copy_schema(cfx_arena *arena, const cfx_schema *of,
                               cfx_param **params)
{
    size_t bytes = (size_t)of->nparams * sizeof(**params);
    cfx_schema *s = cfx_arena_alloc(arena, sizeof(*s));
    *params = cfx_arena_alloc(arena, bytes + 1);
    if (!s || !*params)
        return NULL;
    *s = *of;
    s->params = memcpy(*params, of->params, bytes);
    return s;
}

cfx_status cfx_schema__limit(cfx_schema **out, cfx_arena *arena,
                             const cfx_schema *of, const char *types,
                             cfx_error *err)
{
    struct reader r = {types, types, arena, err};
    cfx_param *p;
    cfx_schema *s = copy_schema(arena, of, &p);
    if (!s)
        return cfx_no_memory(err);
    take(&r, "(");
    for (int k = 0; k < s->nparams && !take(&r, ")"); k++) {
        bool operand;
        cfx_param only = {0};
        if (read_type(&r, &only, &operand))
            return CFX_EPARSE;
        p[k].kinds &= only.kinds;
        p[k].base = only.base;
        take(&r, ",");
    }
    *out = s;
    return CFX_OK;
}

/* The kinds, of tensors or of numbers, that a parameter lacks and the
 * operator's has. */
static uint32_t lacking(const cfx_param *own, const cfx_param *p)
{
    const uint32_t tensor = 1u << CFX_TENSOR;
    if (own->list || !(own->kinds & tensor) ||
        !(own->kinds & CFX_NUMBER_KINDS))
        return 0;
    return !(p->kinds & tensor)             ? tensor
           : !(p->kinds & CFX_NUMBER_KINDS) ? CFX_NUMBER_KINDS
                                            : 0;
}

bool cfx_schema__is_limited(const cfx_schema *of, const cfx_schema *variant)
{
    for (int k = 0; k < variant->nparams; k++) {
        int at = cfx_param__named(of, variant->params[k].name);
        if (at >= 0 && lacking(&of->params[at], &variant->params[k]))
            return true;
    }
    return false;
}

cfx_status cfx_schema__limit_to(cfx_schema **out, cfx_arena *arena,
                                const cfx_schema *of,
                                const cfx_schema *variant, cfx_error *err)
{
    cfx_param *p;
    cfx_schema *s = *out = copy_schema(arena, of, &p);
    if (!s)
        return cfx_no_memory(err);
    for (int k = 0; k < variant->nparams; k++) {
        const cfx_param *only = &variant->params[k];
        int at = cfx_param__named(of, only->name);
        uint32_t less = at < 0 ? 0 : lacking(&of->params[at], only);
        if (less) {
            p[at].kinds &= ~less;
            p[at].base = only->base;
        }
    }
    return CFX_OK;
}

int cfx_param_find(const cfx_schema *schema, const char *name, size_t len)
{
    for (int k = 0; k < schema->nparams; k++) {
        const char *param = schema->params[k].name;
        if (!strncmp(param, name, len) && !param[len])
            return k;
    }
    return -1;
}

/* The name in a signature, and another keyword for it. */
static const char *const synonyms[][2] = {
    {"self", "input"},
    {"dim", "axis"},
    {"keepdim", "keepdims"},
    {"input", "self"},
    {"dims", "dim"},
    {"other", "x2"},
    {"self", "tensor"},
    {"other", "tensor"},
    {"split_size", "split_size_or_sections"},
};

int cfx_param__named(const cfx_schema *s, const char *name)
{
    int k = cfx_param_find(s, name, strlen(name));
    for (size_t i = 0; k < 0 && i < sizeof(synonyms) / sizeof(*synonyms); i++)
        if (!strcmp(synonyms[i][1], name))
            k = cfx_param_find(s, synonyms[i][0], strlen(synonyms[i][0]));
    return k;
}

/* ---- Names for rules ---- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The next name of "SELF, DIM" in lower case; NULL after the last. */
static const char *next_name(const char *at, char *buf, size_t size)
{
    size_t n = 0;
    at += strspn(at, ", \n");
    for (; is_word(*at); at++)
        if (n + 1 < size)
            buf[n++] = lower(*at);
    buf[n] = '\0';
    return n ? at : NULL;
}

/* The parameter with this name, ignoring case, or with a keyword of this name;
 * or -1. */
static int find_lower(const cfx_schema *s, const char *name)
{
    for (int k = 0; k < s->nparams; k++) {
        const char *param = s->params[k].name;
        size_t n = 0;
        while (param[n] && lower(param[n]) == name[n])
            n++;
        if (!param[n] && !name[n])
            return k;
    }
    return cfx_param__named(s, name);
}

cfx_status cfx_schema__place(cfx_schema *s, cfx_arena *arena,
                             const char *params, cfx_error *err)
{
    char name[64];
    uint32_t found = 0;
    int n = 0;
    int8_t *place = cfx_arena_alloc(arena, strlen(params) + 1);
    if (!place)
        return cfx_no_memory(err);
    for (const char *at = params; (at = next_name(at, name, sizeof(name)));) {
        place[n] = (int8_t)find_lower(s, name);
        if (place[n] >= 0)
            found |= 1u << place[n];
        n++;
    }
    for (int k = 0; k < s->nparams; k++)
        if (!(found >> k & 1))
            return cfx_fail(
                err, CFX_EINVAL,
                "schema '%s': parameter '%s' is not in the operator's list of parameters (%s)",
                s->text, s->params[k].name, params);
    s->place = place;
    return CFX_OK;
}

void cfx_param__type_name(const cfx_param *p, char *buf, size_t size)
{
    const char *name = "any";
    for (size_t i = sizeof(type_names) / sizeof(*type_names); i-- > 0;)
        if (type_names[i].base == (cfx_type_base)p->base)
            name = type_names[i].name;
    snprintf(buf, size, p->list ? "list of %ss" : "%s", name);
}
