/*
 * read_tree -- the tree of modules, as repr(module) prints it.
 *
 *     Net(
 *       (conv): Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1))
 *       (acts): ModuleList(
 *         (0-1): 2 x ReLU()
 *       )
 *     )
 *
 * Brackets define the structure; indentation is ignored. A module is created
 * at its closing bracket, since its children may imply arguments that its line
 * hides. A repeated module is parsed once for each repetition. The root, and
 * an unknown type with children or without arguments, become containers that
 * print unchanged.
 */
#include <cfx/op.h>

#include "format/print.h"
#include "format/text/reader.h"
#include "format/text/repr.h"
#include "nn/module_impl.h"
#include "op/op_impl.h"

enum {
    MAX_DEPTH = 256,       /* a tree of real modules has 20 */
    MAX_REPEATED = 1 << 16 /* modules that were read before, in all */
};

/* A module whose line has been read. */
typedef struct frame {
    const char *at;   /* its line */
    const char *name; /* of its class */
    size_t name_len;
    const char *key, *key_end; /* NULL: `number` is the key */
    bool quoted;               /* the key stands in quotes */
    bool copy;                 /* it or its parent was read before */
    uint64_t number;
    const cfx_module_type *type; /* NULL: a container */
    bool training;
    size_t first_arg; /* key and value in turn, on the stack */
    size_t first_child;
    const char *again;   /* a child's line that is read again */
    uint64_t next, last; /* its next key, and its last */
} frame;

typedef struct child {
    cfx_module *m;
    const char *key, *key_end;
    bool quoted;
    uint64_t number;
} child;

/* Cached facts about a type, with a bit for each constructor argument. */
typedef struct known {
    const cfx_module_type *type;
    const cfx_schema *schema;
    uint32_t required; /* neither has a default nor is shown */
    uint32_t hidden;   /* not shown, and matters */
    uint32_t must_give;
} known;

enum { NKNOWN = 32 };

typedef struct tree_reader {
    cfx_reader *r;
    known known[NKNOWN]; /* by a hash of the pointer */
    const char *at;      /* the next line */
    frame *frame;
    size_t nframes, frame_cap;
    child *child; /* made, but not yet in their parents */
    size_t nchildren, child_cap;
    size_t repeated;
    bool typed; /* the root is of a type of modules, no container */
    cfx_module *root;
} tree_reader;

static frame *top(tree_reader *t)
{
    return &t->frame[t->nframes - 1];
}

/* ---- Paths ---- */

static void add_key(cfx_buf *b, const char *key, const char *end,
                    uint64_t number)
{
    if (key)
        cfx_buf_add(b, key, (size_t)(end - key));
    else
        cfx_buf_int(b, (int64_t)number);
}

/* The path of the innermost module, for messages. */
static const char *path_of(tree_reader *t)
{
    cfx_buf *b = &t->r->word;
    cfx_buf_clear(b);
    for (size_t i = 1; i < t->nframes; i++) {
        if (i > 1)
            cfx_buf_putc(b, '.');
        add_key(b, t->frame[i].key, t->frame[i].key_end, t->frame[i].number);
    }
    return b->len ? cfx_buf_str(b) : "the root";
}

/* ---- Arguments that the line hides ---- */

/* The value given for a parameter, or NULL. */
static const cfx_value *given(const tree_reader *t, const frame *f,
                              const char *name, size_t len)
{
    const cfx_reader *r = t->r;
    for (size_t i = f->first_arg; i + 1 < r->n; i += 2)
        if (r->stack[i].kind == CFX_STR && r->stack[i].u.str->len == len &&
            !memcmp(r->stack[i].u.str->text, name, len))
            return &r->stack[i + 1];
    return NULL;
}

/* Push arguments that children imply, unless the line has them. */
static cfx_status push_derived(tree_reader *t, const frame *f,
                               const cfx_schema *schema)
{
    cfx_reader *r = t->r;
    cfx_derived item;
    const char *derived = f->type->derive;
    while (cfx_derived_next(&derived, &item)) {
        if (given(t, f, item.param, item.param_len) ||
            cfx_param_find(schema, item.param, item.param_len) < 0)
            continue;
        for (size_t i = f->first_child; i < t->nchildren; i++) {
            const child *c = &t->child[i];
            const cfx_schema *its = cfx_module_schema(c->m);
            if (!c->key || (size_t)(c->key_end - c->key) != item.child_len ||
                memcmp(c->key, item.child, item.child_len) || !its)
                continue;
            int k = cfx_param_find(its, item.attr, item.attr_len);
            if (k < 0)
                continue;
            cfx_value v = cfx_value_ref(cfx_module_attrs(c->m)[k]);
            cfx_status st = cfx_reader_push_str(r, CFX_STR, item.param,
                                                item.param_len);
            if (st)
                cfx_value_unref(v);
            else
                st = cfx_reader_push_take(r, v);
            if (st)
                return st;
        }
    }
    return CFX_OK;
}

/* The arguments among `bits` that are not given. */
static uint32_t not_given(const tree_reader *t, const frame *f,
                          const cfx_schema *schema, uint32_t bits)
{
    for (int k = 0; bits >> k; k++) {
        const char *name = schema->params[k].name;
        if (bits >> k & 1 && given(t, f, name, strlen(name)))
            bits &= ~((uint32_t)1 << k);
    }
    return bits;
}

static void put_names(cfx_buf *b, const cfx_schema *schema, uint32_t bits)
{
    for (int k = 0; bits >> k; k++)
        if (bits >> k & 1) {
            cfx_buf_puts(b, b->len ? ", " : "");
            cfx_buf_puts(b, schema->params[k].name);
        }
}

/* The line in the message shows all hidden arguments, so that it need be
 * written only once. */
static cfx_status fail_hidden(tree_reader *t, const frame *f, const known *of,
                              uint32_t missing)
{
    cfx_reader *r = t->r;
    cfx_buf names, line;
    cfx_status st;
    cfx_buf_init(&names, r->ctx);
    cfx_buf_init(&line, r->ctx);
    put_names(&names, of->schema, missing);
    cfx_module__put_defaults(
        &line, of->schema, missing | not_given(t, f, of->schema, of->hidden));
    if (names.failed || line.failed)
        st = cfx_no_memory(r->err);
    else if (r->lossless)
        st = cfx_reader_fail(r, f->at, CFX_EINVAL, "%s: %.*s needs %s",
                             path_of(t), (int)f->name_len, f->name,
                             cfx_buf_str(&names));
    else
        st = cfx_reader_fail(
            r, f->at, CFX_EINVAL,
            "%s: the text of %.*s does not tell %s: write it into this line, as in %.*s(%s",
            path_of(t), (int)f->name_len, f->name, cfx_buf_str(&names),
            (int)f->name_len, f->name, cfx_buf_str(&line));
    cfx_buf_release(&names);
    cfx_buf_release(&line);
    return st;
}

/* Required arguments must be there, and in the superset those that it always
 * writes. A message about the former names the latter too. */
static cfx_status check_hidden(tree_reader *t, const frame *f, const known *of)
{
    uint32_t required = not_given(t, f, of->schema, of->required);
    uint32_t must = not_given(t, f, of->schema, of->must_give);
    return required || (must && t->r->lossless)
               ? fail_hidden(t, f, of, required | must)
               : CFX_OK;
}

/* Take the pair whose value is v out of the arguments. */
static void take_out(tree_reader *t, const cfx_value *v)
{
    cfx_reader *r = t->r;
    size_t i = (size_t)(v - r->stack) - 1;
    cfx_value_unref(r->stack[i]);
    cfx_value_unref(r->stack[i + 1]);
    r->n -= 2;
    r->stack[i] = r->stack[r->n];
    r->stack[i + 1] = r->stack[r->n + 1];
}

/* Take `undecided=('p', ...)` out of the arguments, as bits. */
static cfx_status take_undecided(tree_reader *t, const frame *f,
                                 const cfx_schema *schema, uint32_t *bits)
{
    const cfx_value *v = given(t, f, "undecided", 9);
    bool ok = true;
    *bits = 0;
    if (!v)
        return CFX_OK;
    ok = v->kind == CFX_TUPLE;
    for (uint32_t i = 0; ok && i < v->u.seq->len; i++) {
        cfx_value name = v->u.seq->item[i];
        int k = name.kind == CFX_STR
                    ? cfx_param_find(schema, name.u.str->text, name.u.str->len)
                    : -1;
        ok = k >= 0 && !schema->params[k].required;
        if (ok)
            *bits |= (uint32_t)1 << k;
    }
    if (!ok)
        return cfx_reader_fail(
            t->r, f->at, CFX_EPARSE,
            "undecided should be a tuple of names of arguments that have a default");
    take_out(t, v);
    return CFX_OK;
}

static cfx_status undecide(tree_reader *t, cfx_module *m,
                           const cfx_schema *schema, uint32_t bits)
{
    cfx_status st = CFX_OK;
    for (int k = 0; !st && k < schema->nparams; k++)
        if (bits >> k & 1)
            st = cfx_module_undecide(m, schema->params[k].name, t->r->err);
    if (!st && bits && m->type->decide)
        m->type->decide(m);
    t->r->undecided = t->r->undecided || m->undecided;
    return st;
}

/* ---- Arguments of the line ---- */

/* The parameter of positional argument i: the i-th that the repr shows without
 * a name, or the i-th of the constructor. */
static const char *positional(const frame *f, const cfx_schema *schema,
                              size_t i, size_t *len)
{
    const char *repr = f->type->repr;
    cfx_shown item;
    size_t alone = 0;
    while (cfx_shown_next(&repr, &item))
        if (item.alone && alone++ == i) {
            *len = item.len;
            return item.name;
        }
    if (i >= (size_t)schema->npositional)
        return NULL;
    *len = strlen(schema->params[i].name);
    return schema->params[i].name;
}

/* Give each argument its parameter's name, and bare words their quotes. */
static cfx_status name_arguments(tree_reader *t, const frame *f,
                                 const cfx_schema *schema)
{
    cfx_reader *r = t->r;
    for (size_t i = f->first_arg, k = 0; i + 1 < r->n; i += 2) {
        if (r->stack[i + 1].kind == CFX_NAME)
            r->stack[i + 1].kind = CFX_STR;
        if (r->stack[i].kind != CFX_NONE)
            continue;
        size_t len = 0;
        const char *name = positional(f, schema, k++, &len);
        if (!name)
            return cfx_reader_fail(
                r, f->at, CFX_EINVAL, "%s: %.*s takes %d arguments",
                path_of(t), (int)f->name_len, f->name, schema->npositional);
        cfx_status st = cfx_reader_push_str(r, CFX_STR, name, len);
        if (st)
            return st;
        r->stack[i] = r->stack[--r->n];
    }
    return CFX_OK;
}

/* Take `training=...` out of the arguments, where the type has none. */
static cfx_status take_training(tree_reader *t, frame *f,
                                const cfx_schema *schema)
{
    cfx_reader *r = t->r;
    const cfx_value *v = given(t, f, "training", 8);
    if (!v || (schema && cfx_param_find(schema, "training", 8) >= 0))
        return CFX_OK;
    if (v->kind != CFX_BOOL_VALUE)
        return cfx_reader_fail(r, f->at, CFX_EPARSE,
                               "training should be True or False");
    f->training = v->u.i != 0;
    take_out(t, v);
    return CFX_OK;
}

/* State of one number that a repr shows. */
enum { MAX_SHOWN = 4 };
typedef struct shown_state {
    char name[32];
    double value;
} shown_state;

/* Take such state out of the arguments; returns how much there is. */
static size_t take_state(tree_reader *t, const frame *f,
                         shown_state state[MAX_SHOWN])
{
    cfx_shown item;
    size_t n = 0;
    for (const char *names = f->type->repr_state;
         cfx_shown_next(&names, &item);) {
        const cfx_value *v = given(t, f, item.name, item.len);
        if (!v || (v->kind != CFX_FLOAT && v->kind != CFX_INT) ||
            n == MAX_SHOWN || item.len >= sizeof(state->name))
            continue;
        memcpy(state[n].name, item.name, item.len);
        state[n].name[item.len] = '\0';
        state[n++].value = cfx_value_number(*v);
        take_out(t, v);
    }
    return n;
}

static cfx_status set_state(cfx_reader *r, cfx_module *m,
                            const shown_state *state, size_t n)
{
    cfx_status st = CFX_OK;
    for (size_t i = 0; i < n && !st; i++) {
        const cfx_state *declared = cfx_module_state(m, state[i].name);
        cfx_dtype type = declared && declared->tensor
                             ? (cfx_dtype)declared->tensor->dtype
                             : CFX_F32;
        cfx_tensor *t;
        st = cfx_tensor_new(&t, r->ctx, type, 0, NULL, r->err);
        if (st)
            break;
        cfx_element_set_double(type, t->data, state[i].value);
        st = cfx_module_set(m, state[i].name, t, r->err);
        cfx_tensor_unref(t);
    }
    return st;
}

/* ---- Making modules ---- */

/* The class's name in r->word. */
static const char *class_name(tree_reader *t, const frame *f)
{
    return cfx_reader_word(t->r, f->name, f->name_len);
}

static void look_up_hidden(known *of)
{
    of->required = of->hidden = of->must_give = 0;
    for (int k = 0; k < of->schema->nparams; k++) {
        const cfx_param *p = &of->schema->params[k];
        uint32_t bit = (uint32_t)1 << k;
        if (cfx_module__lists(of->type->must_give, p->name))
            of->must_give |= bit;
        if (p->required)
            of->required |= bit;
        else if (!cfx_shown_has(of->type->repr, p->name) &&
                 !cfx_module__lists(of->type->implied, p->name))
            of->hidden |= bit;
    }
}

static cfx_status find_known(tree_reader *t, const cfx_module_type *type,
                             const known **out)
{
    const cfx_schema *forward;
    known *k = &t->known[(uintptr_t)type / sizeof(*type) % NKNOWN];
    *out = k;
    if (k->type == type)
        return CFX_OK;
    cfx_status st = cfx_module_type__schemas(t->r->ctx, type, &k->schema,
                                             &forward, t->r->err);
    k->type = st ? NULL : type;
    if (!st)
        look_up_hidden(k);
    return st;
}

static cfx_status make_typed(tree_reader *t, frame *f, cfx_module **m)
{
    cfx_reader *r = t->r;
    const known *of;
    uint32_t undecided = 0;
    shown_state state[MAX_SHOWN];
    size_t nstate = 0;
    cfx_status st = find_known(t, f->type, &of);
    if (!st)
        st = take_training(t, f, of->schema);
    if (!st)
        nstate = take_state(t, f, state);
    if (!st)
        st = name_arguments(t, f, of->schema);
    if (!st)
        st = push_derived(t, f, of->schema);
    if (!st)
        st = check_hidden(t, f, of);
    if (!st && r->lossless)
        st = take_undecided(t, f, of->schema, &undecided);
    else if (!st)
        undecided = not_given(t, f, of->schema, of->hidden);
    if (st)
        return st;
    const char *name = class_name(t, f);
    if (!name)
        return CFX_ENOMEM;
    st = cfx_module_new(m, r->ctx, f->type, name,
                        (cfx_args){NULL, 0, cfx_reader_from(r, f->first_arg),
                                   (r->n - f->first_arg) / 2},
                        r->err);
    if (st && st != CFX_ENOMEM)
        cfx_fail_at(r->err, "%s", path_of(t));
    bool made = !st;
    if (!st)
        st = undecide(t, *m, of->schema, undecided);
    if (!st)
        st = set_state(r, *m, state, nstate);
    if (st && made) {
        cfx_module_unref(*m);
        *m = NULL;
    }
    return st ? cfx_reader_fail_at(r, f->at) : CFX_OK;
}

static cfx_status make_container(tree_reader *t, frame *f, cfx_module **m)
{
    cfx_reader *r = t->r;
    cfx_status st = take_training(t, f, NULL);
    if (st)
        return st;
    if (r->n > f->first_arg)
        return cfx_reader_fail(r, f->at, CFX_ENAME,
                               t->nframes == 1 && !t->typed
                                   ? "the root %.*s takes no arguments"
                                   : "the module type %.*s is unknown",
                               (int)f->name_len, f->name);
    const char *name = class_name(t, f);
    return name ? cfx_module_new_container(m, r->ctx, name, r->err)
                : CFX_ENOMEM;
}

/* A child's key, in r->word; NULL on failure. */
static const char *key_of(tree_reader *t, const child *c)
{
    cfx_reader *r = t->r;
    cfx_buf_clear(&r->word);
    if (c->quoted) {
        cfx_lexer lx;
        cfx_lexer_init(&lx, c->key - 1, c->key_end + 1, &r->string);
        cfx_buf_add(&r->word, cfx_buf_str(&r->string), r->string.len);
    } else {
        add_key(&r->word, c->key, c->key_end, c->number);
    }
    if (r->word.failed || r->string.failed) {
        cfx_no_memory(r->err);
        return NULL;
    }
    if (r->word.len && strlen(r->word.s) == r->word.len)
        return r->word.s;
    cfx_fail(r->err, CFX_EPARSE, "a key is empty or holds a NUL character");
    return NULL;
}

/* The children of the innermost module, into m, in place of those that its
 * constructor made, which decide what the text of a child hides. */
static cfx_status adopt(tree_reader *t, const frame *f, cfx_module *m)
{
    cfx_reader *r = t->r;
    cfx_status st = CFX_OK;
    for (size_t i = f->first_child; i < t->nchildren; i++) {
        cfx_module *its = t->child[i].m;
        const char *key = st ? NULL : key_of(t, &t->child[i]);
        t->child[i].m = NULL;
        if (!st && !key)
            st = r->err->code;
        if (!st && !f->type && cfx_module_child(m, key))
            st = cfx_fail(r->err, CFX_EPARSE, "(%s) stands there twice", key);
        const cfx_module *made = st ? NULL : cfx_module_child(m, key);
        if (made)
            cfx_module__decide_as(its, made);
        if (st)
            cfx_module_unref(its);
        else
            st = cfx_module_add_take(m, key, its, r->err);
    }
    t->nchildren = f->first_child;
    if (!st && f->type)
        st = cfx_module__parametrize(m, r->err);
    return st ? cfx_reader_fail_at(r, f->at) : CFX_OK;
}

/* Put a module that is done into the list of its parent's children. */
static cfx_status add_child(tree_reader *t, const frame *f, cfx_module *m)
{
    cfx_reader *r = t->r;
    if (cfx_grow(r->ctx, t->child, t->child_cap, t->nchildren + 1, r->err)) {
        cfx_module_unref(m);
        return CFX_ENOMEM;
    }
    t->child[t->nchildren++] = (child){.m = m,
                                       .key = f->key,
                                       .key_end = f->key_end,
                                       .quoted = f->quoted,
                                       .number = f->number};
    frame *parent = top(t);
    if (parent->again && f->at == parent->again) {
        bool more = parent->next < parent->last;
        parent->next += more;
        if (more)
            t->at = parent->again;
        else
            parent->again = NULL;
    }
    return CFX_OK;
}

static cfx_status close_module(tree_reader *t)
{
    cfx_reader *r = t->r;
    frame f = *top(t);
    cfx_module *m = NULL;
    cfx_status st = f.type ? make_typed(t, &f, &m) : make_container(t, &f, &m);
    if (st)
        return st;
    if (f.training)
        cfx_module_train(m, true);
    st = adopt(t, &f, m);
    if (st) {
        cfx_module_unref(m);
        return st;
    }
    cfx_reader_pop_to(r, f.first_arg);
    t->nframes--;
    if (t->nframes)
        return add_child(t, &f, m);
    t->root = m;
    return CFX_OK;
}

/* ---- Lines ---- */

/* The arguments from after the bracket; *closed: did another end them? */
static cfx_status read_arguments(tree_reader *t, const char *s,
                                 const char *end, bool *closed)
{
    cfx_reader *r = t->r;
    cfx_lexer lx;
    cfx_lexer_init(&lx, s, end, &r->string);
    cfx_status st = cfx_read__arguments(r, &lx, 0);
    *closed = cfx_lexer_is(&lx, ')');
    if (!st && *closed)
        cfx_lexer_next(&lx);
    if (!st && lx.token != CFX_TOKEN_END)
        st = cfx_read__unexpected(r, &lx, "the end of the line");
    return st;
}

/* The type of a class that a text names, also of one that parametrize made;
 * f->type is NULL where it is unknown. */
static cfx_status find_type(cfx_reader *r, frame *f, const char *name)
{
    const char *plain = cfx_module__unparametrized(name);
    cfx_status st = cfx_module_type__find(&f->type, r->ctx, name, NULL);
    if (st == CFX_ENAME && plain != name)
        st = cfx_module_type__find(&f->type, r->ctx, plain, NULL);
    return st == CFX_ENOMEM ? cfx_no_memory(r->err) : CFX_OK;
}

/* The length of `(Reference)` after the name of a class: torch.ao's reference
 * modules have it. */
static size_t reference_suffix(const char *s, const char *end)
{
    static const char suffix[] = "(Reference)";
    size_t n = sizeof(suffix) - 1;
    return (size_t)(end - s) > n && !memcmp(s, suffix, n) && s[n] == '(' ? n
                                                                         : 0;
}

/* `Name(`, and what follows it on the line. */
static cfx_status open_module(tree_reader *t, const frame *key, const char *s,
                              const char *end)
{
    cfx_reader *r = t->r;
    frame f = *key;
    bool root = !t->nframes && !t->typed, closed;
    f.name = s;
    /* The graph of a lambda is of the class `<lambda>`. */
    while (s < end &&
           (cfx_is_name_char(*s) || *s == '.' || *s == '<' || *s == '>'))
        s++;
    s += reference_suffix(s, end);
    f.name_len = (size_t)(s - f.name);
    if (!f.name_len || s == end || *s != '(')
        return cfx_reader_fail(r, f.name, CFX_EPARSE,
                               "a module such as ReLU() should stand here");
    if (t->nframes == MAX_DEPTH)
        return cfx_reader_fail(r, f.name, CFX_EPARSE,
                               "modules nest deeper than %d", MAX_DEPTH);
    t->repeated += f.copy;
    if (t->repeated > MAX_REPEATED)
        return cfx_reader_fail(r, f.name, CFX_EPARSE,
                               "more than %d modules are repeated",
                               MAX_REPEATED);
    if (cfx_grow(r->ctx, t->frame, t->frame_cap, t->nframes + 1, r->err))
        return CFX_ENOMEM;
    const char *name = class_name(t, &f);
    if (!name)
        return CFX_ENOMEM;
    if (!root && find_type(r, &f, name))
        return CFX_ENOMEM;
    f.first_arg = r->n;
    f.first_child = t->nchildren;
    t->frame[t->nframes++] = f;
    s++;
    /* The repr of an unknown class need not be Python. */
    bool plain = s == end || (end - s == 1 && *s == ')');
    if (!f.type && !root && !plain && !r->lossless)
        return cfx_reader_fail(r, f.name, CFX_ENAME,
                               "the module type %s is unknown", name);
    cfx_status st = read_arguments(t, s, end, &closed);
    return st ? st : closed ? close_module(t) : CFX_OK;
}

/* `0-11` of `(0-11): 12 x`: the numbers, if they agree. */
static bool parse_range(const char *s, const char *end, uint64_t *first,
                        uint64_t *last)
{
    uint64_t *to = first;
    size_t digits = 0;
    for (*first = *last = 0; s < end; s++) {
        if (*s == '-' && to == first && digits) {
            to = last;
            digits = 0;
        } else if (cfx_is_digit(*s) && digits < 9) {
            *to = *to * 10 + (uint64_t)(*s - '0');
            digits++;
        } else {
            return false;
        }
    }
    return to == last && digits && *first <= *last;
}

/* `12 x ` before the name: *s is left after it. */
static cfx_status read_times(tree_reader *t, frame *f, const char **s,
                             const char *end)
{
    cfx_reader *r = t->r;
    frame *parent = top(t);
    uint64_t times = 0, first, last;
    const char *at = *s;
    while (at < end && cfx_is_digit(*at) && times < MAX_REPEATED)
        times = times * 10 + (uint64_t)(*at++ - '0');
    if (at == *s || !cfx_starts(at, end, " x "))
        return CFX_OK;
    *s = at + 3;
    bool ok = parse_range(f->key, f->key_end, &first, &last);
    if (!ok || last - first + 1 != times)
        return cfx_reader_fail(r, f->key, CFX_EPARSE,
                               "the keys are not those of %llu modules",
                               (unsigned long long)times);
    if (parent->again != f->at) {
        parent->again = f->at;
        parent->next = first;
        parent->last = last;
    }
    f->key = NULL;
    f->number = parent->next;
    f->copy = parent->copy || f->number > first;
    return CFX_OK;
}

/* The key in quotes: the superset's, where it would not be plain. */
static const char *quoted_key(tree_reader *t, frame *f, const char *s,
                              const char *end)
{
    const char *close = cfx_scan_string(s, end);
    if (!t->r->lossless || !close || !cfx_starts(close, end, "): "))
        return NULL;
    f->key = s + 1;
    f->key_end = close - 1;
    f->quoted = true;
    return close + 3;
}

/* `(key): Name(...`. */
static cfx_status read_child(tree_reader *t, const char *s, const char *end)
{
    cfx_reader *r = t->r;
    frame f = {.at = s, .key = s + 1, .copy = top(t)->copy};
    const char *at = NULL;
    if (s + 1 < end && (s[1] == '\'' || s[1] == '"'))
        at = quoted_key(t, &f, s + 1, end);
    for (const char *c = s + 1; !at && c < end; c++)
        if (cfx_starts(c, end, "): ")) {
            f.key_end = c;
            at = c + 3;
        }
    if (!at || f.key_end == f.key)
        return cfx_reader_fail(r, s, CFX_EPARSE,
                               "'(key): ' should begin the line");
    cfx_status st = read_times(t, &f, &at, end);
    return st ? st : open_module(t, &f, at, end);
}

static cfx_status read_line(tree_reader *t, const char *s, const char *end)
{
    cfx_reader *r = t->r;
    bool closed;
    while (end > s && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if (!t->nframes) {
        frame f = {.at = s, .key = s, .key_end = s};
        return open_module(t, &f, s, end);
    }
    if (end - s == 1 && *s == ')')
        return close_module(t);
    if (*s == '(')
        return read_child(t, s, end);
    /* Arguments on lines of their own, before the children. */
    if (!top(t)->type || t->nchildren > top(t)->first_child)
        return cfx_reader_fail(r, s, CFX_EPARSE,
                               "'(key): ' or ')' should stand here");
    cfx_status st = read_arguments(t, s, end, &closed);
    if (!st && closed)
        st = close_module(t);
    return st;
}

static cfx_status read_lines(tree_reader *t)
{
    cfx_reader *r = t->r;
    cfx_line line;
    while (!t->root) {
        if (!cfx_reader_line(r, t->at, &line))
            return cfx_reader_fail(r, r->end, CFX_EPARSE,
                                   "the tree of modules does not end");
        t->at = line.next;
        const char *s = cfx_line_begin(&line);
        cfx_status st = s < line.end ? read_line(t, s, line.end) : CFX_OK;
        if (st)
            return st;
    }
    return CFX_OK;
}

cfx_status cfx_read__tree(cfx_reader *r, const char **at, bool typed,
                          cfx_module **out)
{
    tree_reader t = {.r = r, .at = *at, .typed = typed};
    cfx_status st = read_lines(&t);
    for (size_t i = 0; i < t.nchildren; i++)
        cfx_module_unref(t.child[i].m);
    cfx_free(r->ctx, t.child, t.child_cap * sizeof(*t.child));
    cfx_free(r->ctx, t.frame, t.frame_cap * sizeof(*t.frame));
    *at = t.at;
    *out = t.root;
    return st;
}
