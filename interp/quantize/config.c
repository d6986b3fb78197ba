/*
 * config -- a quantizer that chooses another one for each node, by JSON.
 */
#include <regex.h>
#include <string.h>

#include "base/util.h"
#include "format/io.h"
#include "format/json.h"
#include "graph/provenance.h"
#include "interp/quantize/quantize_impl.h"

enum { FILE_MAX = 1 << 20 };

/* Sections, from the general to the specific. */
typedef enum section { GLOBAL, TYPE, REGEX, NAME, NSECTIONS } section;

static const char *const sections[NSECTIONS] = {
    "global", "object_type", "module_name_regex", "module_name"};

typedef struct rule {
    section in;
    const char *key;                /* of the JSON */
    const cfx_quantizer_class *cls; /* NULL: float */
    const cfx_quant_spec *activations;
    regex_t regex;
    bool compiled, used;
} rule;

typedef struct config {
    cfx_quantizer base;
    cfx_context *ctx;
    cfx_json json;
    rule *rule;
    size_t n, cap;
} config;

/* ---- Matching ---- */

static cfx_string *class_of(const cfx_node *n)
{
    cfx_value stack = cfx_node_meta(n, "nn_module_stack");
    if (stack.kind != CFX_DICT || stack.u.seq->len < 2)
        return NULL;
    cfx_value last = stack.u.seq->item[stack.u.seq->len - 1];
    if (!cfx_value_is_seq(last) || last.u.seq->len < 2)
        return NULL;
    last = last.u.seq->item[1];
    return last.kind == CFX_STR ? last.u.str : NULL;
}

/* The name of a class without the modules of Python before it. */
static const char *last_word(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static bool is_torch_class(const char *name)
{
    return !strncmp(name, "torch.nn.", 9);
}

/* torch.nn.Linear is torch.nn.modules.linear.Linear, and either of them may be
 * written Linear. */
static bool is_class(const char *key, const char *name)
{
    bool same_package = !strchr(key, '.') || !strchr(name, '.') ||
                        (is_torch_class(key) && is_torch_class(name));
    return !strcmp(key, name) ||
           (same_package && !strcmp(last_word(key), last_word(name)));
}

static bool has_type(const rule *r, const cfx_node *n)
{
    const cfx_string *cls = class_of(n);
    return cfx_node_is(n, r->key) || (cls && is_class(r->key, cls->text));
}

/* The length of the match by name plus 1; 0 without one. */
static size_t name_match(const rule *r, const cfx_node *n, const char *path)
{
    size_t len = strlen(r->key);
    if (!strcmp(r->key, n->name))
        return SIZE_MAX;
    return !strncmp(path, r->key, len) && (!path[len] || path[len] == '.')
               ? len + 1
               : 0;
}

/* An expression matches from the beginning of the text, as in Python's re.match.
 * regexec finds the leftmost match. */
static bool regex_match(const regex_t *regex, const char *text)
{
    regmatch_t at;
    return !regexec(regex, text, 1, &at, 0) && at.rm_so == 0;
}

/* How well a rule matches; 0: not at all. */
static size_t match(const rule *r, const cfx_node *n)
{
    const cfx_string *inner = cfx_node__innermost_module(n);
    const char *path = inner ? inner->text : "";
    switch (r->in) {
    case GLOBAL: return 1;
    case TYPE: return has_type(r, n);
    case REGEX: return inner && regex_match(&r->regex, path);
    default: return name_match(r, n, path);
    }
}

static cfx_status annotate_by(const cfx_quantizer *q,
                              const cfx_quantizer_class *cls,
                              const cfx_quant_spec *activations,
                              const cfx_node *n, cfx_quant_mark *mark)
{
    cfx_quantizer chosen;
    cfx_quantizer_init(&chosen, cls);
    chosen.activations = activations ? activations : q->activations;
    return cfx_quantizer__annotate_by(&chosen, q, n, mark);
}

static cfx_status config_annotate(cfx_quantizer *q, const cfx_node *n,
                                  cfx_quant_mark *mark)
{
    config *c = (config *)q;
    const rule *best = NULL;
    size_t best_match = 0;
    for (size_t i = 0; i < c->n; i++) {
        size_t by = match(&c->rule[i], n);
        c->rule[i].used = c->rule[i].used || by;
        if (by && (!best || c->rule[i].in > best->in ||
                   (c->rule[i].in == best->in && by > best_match))) {
            best = &c->rule[i];
            best_match = by;
        }
    }
    if (!best || !best->cls) {
        /* The sums that a norm reads stay float with it. */
        cfx_quant_mark usual = {.reason = NULL};
        cfx_status st = annotate_by(q, &cfx_quantizer_x86, NULL, n, &usual);
        mark->reads_float = usual.reads_float;
        mark->reason = "the configuration keeps it in float";
        return st;
    }
    return annotate_by(q, best->cls, best->activations, n, mark);
}

static const cfx_quantizer_class config_class = {
    .size = sizeof(cfx_quantizer_class),
    .name = "config",
    .super = &cfx_quantizer_base,
    .annotate = config_annotate,
};

/* ---- Reading ---- */

/* POSIX leaves a backslash before a letter or digit undefined; in Python it
 * has meanings of its own. */
static cfx_status check_regex(const char *key, cfx_error *err)
{
    for (const char *p = key; *p; p++) {
        if (*p != '\\')
            continue;
        p++;
        if (!*p || !strchr(".[]{}()*+?^$|\\/-", *p))
            return cfx_fail(
                err, CFX_EPARSE,
                "the expression '%.100s' has \\%.1s, which POSIX does not define: write a bracket expression",
                key, p);
    }
    return CFX_OK;
}

static cfx_status compile(rule *r, cfx_error *err)
{
    char why[128];
    cfx_status st = check_regex(r->key, err);
    if (st)
        return st;
    int code = regcomp(&r->regex, r->key, REG_EXTENDED);
    r->compiled = !code;
    if (code == REG_ESPACE)
        return cfx_no_memory(err);
    if (!code)
        return CFX_OK;
    regerror(code, &r->regex, why, sizeof(why));
    return cfx_fail(err, CFX_EPARSE, "the expression '%.100s': %s", r->key,
                    why);
}

static cfx_status unknown_class(const config *c, const char *key,
                                cfx_error *err)
{
    const cfx_quantizer_class *cls;
    cfx_buf names;
    cfx_buf_init(&names, c->ctx);
    for (size_t i = 0; (cls = cfx_quantizer_at(i)); i++) {
        cfx_buf_puts(&names, cls->name);
        cfx_buf_puts(&names, ", ");
    }
    cfx_status st = names.failed
                        ? cfx_no_memory(err)
                        : cfx_fail(err, CFX_EPARSE,
                                   "'%.100s' has to be one of %sor null", key,
                                   cfx_buf_str(&names));
    cfx_buf_release(&names);
    return st;
}

/* Read {"quantizer": NAME, "observer": NAME}: the first becomes *value. */
static cfx_status read_observer(const char *key, const json_t **value,
                                const cfx_quant_spec **out, cfx_error *err)
{
    const json_t *all = *value;
    const json_t *observer = json_object_get(all, "observer");
    *value = json_object_get(all, "quantizer");
    *out = json_is_string(observer)
               ? cfx_find_activations(json_string_value(observer))
               : NULL;
    if (!*value || json_object_size(all) != 1 + (observer != NULL))
        return cfx_fail(
            err, CFX_EPARSE,
            "'%.100s' has to have a quantizer, perhaps an observer, and nothing else",
            key);
    if (observer && !*out)
        return cfx_fail(
            err, CFX_EPARSE,
            "the observer of '%.100s' has to be one of HistogramObserver, MinMaxObserver, MovingAverageMinMaxObserver, PercentileObserver or EntropyObserver",
            key);
    return CFX_OK;
}

static cfx_status add_rule(config *c, section in, const char *key,
                           const json_t *value, cfx_error *err)
{
    const cfx_quant_spec *activations = NULL;
    if (json_is_object(value) && read_observer(key, &value, &activations, err))
        return CFX_EPARSE;
    const cfx_quantizer_class *cls = json_is_string(value)
                                         ? cfx_find_quantizer(
                                               json_string_value(value))
                                         : NULL;
    if (!cls && !json_is_null(value))
        return unknown_class(c, key, err);
    if (!*key)
        return cfx_fail(err, CFX_EPARSE, "%s has an empty key", sections[in]);
    if (cfx_grow(c->ctx, c->rule, c->cap, c->n + 1, err))
        return CFX_ENOMEM;
    rule *r = &c->rule[c->n++];
    *r = (rule){.in = in, .key = key, .cls = cls, .activations = activations};
    return in == REGEX ? compile(r, err) : CFX_OK;
}

static cfx_status read_section(config *c, const char *key, json_t *value,
                               cfx_error *err)
{
    const char *name;
    json_t *item;
    cfx_status st = CFX_OK;
    int in = 0;
    while (in < NSECTIONS && strcmp(sections[in], key))
        in++;
    if (in == NSECTIONS)
        return cfx_fail(
            err, CFX_EPARSE,
            "the key '%.100s' is unknown: global, object_type, module_name_regex or module_name",
            key);
    if (in == GLOBAL)
        return add_rule(c, GLOBAL, key, value, err);
    if (!json_is_object(value))
        return cfx_fail(err, CFX_EPARSE, "%s has to be an object", key);
    json_object_foreach(value, name, item)
    {
        st = add_rule(c, (section)in, name, item, err);
        if (st)
            break;
    }
    return st;
}

cfx_status cfx_quantizer_config_parse(cfx_quantizer **out, cfx_context *ctx,
                                      const char *text, size_t len,
                                      cfx_error *err)
{
    const char *key;
    json_t *value;
    config *c = cfx_calloc(ctx, 1, sizeof(*c));
    *out = NULL;
    if (!c)
        return cfx_no_memory(err);
    c->ctx = ctx;
    cfx_quantizer_init(&c->base, &config_class);
    cfx_status st = cfx_json_check_bound(text, len, err);
    if (!st)
        st = cfx_json_parse(&c->json, ctx, text, len, JSON_REJECT_DUPLICATES,
                            0, err);
    if (!st && !json_is_object(c->json.root))
        st = cfx_fail(err, CFX_EPARSE, "it has to be an object");
    if (!st) {
        json_object_foreach(c->json.root, key, value)
        {
            st = read_section(c, key, value, err);
            if (st)
                break;
        }
    }
    if (st)
        cfx_quantizer_config_free(&c->base);
    else
        *out = &c->base;
    return st;
}

cfx_status cfx_quantizer_config_read(cfx_quantizer **out, cfx_context *ctx,
                                     const char *path, cfx_error *err)
{
    cfx_bytes text = {0};
    cfx_status st = cfx_bytes_read(&text, ctx, path, FILE_MAX,
                                   cfx_bytes_are_text, err);
    *out = NULL;
    if (!st)
        st = cfx_quantizer_config_parse(out, ctx, (const char *)text.data,
                                        text.len, err);
    cfx_bytes_release(&text);
    return st ? cfx_fail_at(err, "%s", path) : CFX_OK;
}

cfx_status cfx_quantizer_config_check(const cfx_quantizer *q, cfx_error *err)
{
    const config *c = (const config *)q;
    for (size_t i = 0; i < c->n; i++)
        if (!c->rule[i].used && c->rule[i].in != GLOBAL)
            return cfx_fail(
                err, CFX_EINVAL,
                "%s '%.100s' matches no call whose result is a float32 tensor",
                sections[c->rule[i].in], c->rule[i].key);
    return CFX_OK;
}

void cfx_quantizer_config_free(cfx_quantizer *q)
{
    config *c = (config *)q;
    if (!c)
        return;
    for (size_t i = 0; i < c->n; i++)
        if (c->rule[i].compiled)
            regfree(&c->rule[i].regex);
    if (c->json.root)
        cfx_json_release(&c->json);
    cfx_free(c->ctx, c->rule, c->cap * sizeof(*c->rule));
    cfx_free(c->ctx, c, sizeof(*c));
}
