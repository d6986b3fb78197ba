/*
 * pt2_write_argument -- the arguments of calls, as the union that the schema has.
 *
 * A list has one kind for all its items: that of the widest, so that a node
 * among numbers makes the list one of symbolic numbers.
 */
#include <inttypes.h>

#include "format/pt2/pt2_write.h"

/* ---- Nodes ---- */

const char *cfx_pt2__name_of(const cfx_pt2_writer *w, const cfx_node *n)
{
    const cfx_pt2_state *s = n->op == CFX_GET_ATTR && !w->depth
                                 ? cfx_pt2__state_of(&w->states, n)
                                 : NULL;

    const cfx_node *other = n->op == CFX_PLACEHOLDER
                                ? cfx_graph_find(n->graph, n->target->text)
                                : n;

    /* An input may be called what is no name of a node: input. */
    if (n->op == CFX_PLACEHOLDER && (!other || other == n))
        return n->target->text;
    return s ? s->input : n->name;
}

/* The module of a nested graph that a get_attr node reads; or NULL. */
static const cfx_module *nested(const cfx_pt2_writer *w, const cfx_node *n)
{
    const cfx_module *m = n->op == CFX_GET_ATTR
                              ? cfx_module_at(w->gm, n->target->text)
                              : NULL;

    return m && cfx_graph_module_graph(m) ? m : NULL;
}

static cfx_status put_nested(cfx_pt2_writer *w, const cfx_node *n,
                             cfx_error *err)
{
    const cfx_module *outer = w->gm;

    if (w->depth >= CFX_MAX_DEPTH)
        return cfx_fail(err, CFX_ELIMIT, "graphs nest deeper than %d",
                        CFX_MAX_DEPTH);
    cfx_buf_puts(w->out, "{\"as_graph\": {\"name\": ");
    cfx_pt2__put_name(w->out, n->target->text);
    cfx_buf_puts(w->out, ", \"graph\": ");
    w->depth++;
    cfx_status st = cfx_pt2__put_graph(w, nested(w, n), false, err);
    w->depth--;
    w->gm = outer;
    cfx_buf_puts(w->out, "}}");
    return st;
}

static cfx_status no_value(const cfx_node *n, cfx_error *err)
{
    return cfx_fail(err, CFX_EUNSUPPORTED,
                    "%%%s is used, but gives no tensor or number", n->name);
}

cfx_status cfx_pt2__put_node(cfx_pt2_writer *w, const cfx_node *n,
                             cfx_error *err)
{
    if (nested(w, n))
        return put_nested(w, n, err);
    for (int i = 0; i < CFX_PT2_NNAMED; i++) {
        const cfx_pt2_named *u = &cfx_pt2__value_unions[i];
        if (!(u->kinds >> cfx_pt2__val(n).kind & 1))
            continue;
        cfx_buf_printf(w->out, "{\"%s\": {\"%s\": ", u->kind, u->name);
        cfx_pt2__put_name(w->out, cfx_pt2__name_of(w, n));
        cfx_buf_puts(w->out, "}}");
        return CFX_OK;
    }
    return no_value(n, err);
}

/* ---- Lists ---- */

/* How the items of a list are written. */
enum form {
    INTS,
    FLOATS,
    BOOLS,
    TEXTS,
    SYM_INTS,
    SYM_FLOATS,
    NAMES,
    OPTIONAL,
    NAME_LISTS,
    FLOAT_LISTS,
    INT_LISTS
};

#define KIND(k) (1u << CFX_##k)

/* The key of a form, and the kinds of its items: literals, and values of nodes. */
static const struct {
    const char *key;
    uint32_t literals, nodes;
} forms[] = {
    [INTS] = {"as_ints", KIND(INT), 0},
    [FLOATS] = {"as_floats", KIND(FLOAT) | KIND(INT), 0},
    [BOOLS] = {"as_bools", KIND(BOOL_VALUE), 0},
    [TEXTS] = {"as_strings", KIND(STR), 0},
    [SYM_INTS] = {"as_sym_ints", KIND(INT), KIND(INT) | KIND(SYMINT)},
    [SYM_FLOATS] = {"as_sym_floats", KIND(FLOAT) | KIND(INT), KIND(FLOAT)},
    [NAMES] = {"as_tensors", 0, ~0u},
    [OPTIONAL] = {"as_optional_tensors", KIND(NONE), ~0u},
    [NAME_LISTS] = {"as_nested_tensors", KIND(TUPLE) | KIND(LIST), 0},
    [FLOAT_LISTS] = {"as_float_lists", KIND(TUPLE) | KIND(LIST), 0},
    [INT_LISTS] = {"as_int_lists", KIND(TUPLE) | KIND(LIST), 0},
};

/* The kind of an item, or of the value that a node computes. */
static cfx_kind kind_in(cfx_value v)
{
    return (cfx_kind)(v.kind == CFX_NODE ? cfx_pt2__val(v.u.node) : v).kind;
}

static enum form form_of_lists(const cfx_seq *seq)
{
    for (uint32_t i = 0; i < seq->len; i++) {
        cfx_value v = seq->item[i];
        if (cfx_value_is_seq(v) && v.u.seq->len)
            return v.u.seq->item[0].kind == CFX_NODE    ? NAME_LISTS
                   : v.u.seq->item[0].kind == CFX_FLOAT ? FLOAT_LISTS
                                                        : INT_LISTS;
    }
    return INT_LISTS;
}

/* The form that the widest item asks for. */
static enum form form_of(const cfx_seq *seq)
{
    bool tensors = false, symbols = false, none = false, floats = false,
         lists = false;

    for (uint32_t i = 0; i < seq->len; i++) {
        cfx_value v = seq->item[i];
        cfx_kind kind = kind_in(v);
        tensors |= kind == CFX_TENSOR;
        symbols |= v.kind == CFX_NODE && kind != CFX_TENSOR;
        floats |= kind == CFX_FLOAT;
        none |= v.kind == CFX_NONE;
        lists |= cfx_value_is_seq(v);
    }
    if (lists)
        return form_of_lists(seq);
    if (tensors || none)
        return none ? OPTIONAL : NAMES;
    if (symbols || floats)
        return !symbols ? FLOATS : floats ? SYM_FLOATS : SYM_INTS;
    cfx_kind first = seq->len ? (cfx_kind)seq->item[0].kind : CFX_INT;
    return first == CFX_BOOL_VALUE ? BOOLS : first == CFX_STR ? TEXTS : INTS;
}

/* Has an item a place in a list of this form? */
static bool fits(enum form form, cfx_value v)
{
    return (v.kind == CFX_NODE ? forms[form].nodes : forms[form].literals) >>
               kind_in(v) &
           1;
}

static void put_literal(cfx_buf *b, cfx_value v)
{
    if (v.kind == CFX_FLOAT)
        cfx_pt2__put_float(b, v.u.f);
    else if (v.kind == CFX_BOOL_VALUE)
        cfx_buf_puts(b, v.u.i ? "true" : "false");
    else if (v.kind == CFX_STR)
        cfx_pt2__put_text(b, v.u.str->text, v.u.str->len);
    else
        cfx_buf_printf(b, "%" PRId64, v.u.i);
}

static void put_item(cfx_pt2_writer *w, cfx_value v, enum form form)
{
    cfx_buf *b = w->out;
    bool symbolic = form == SYM_INTS || form == SYM_FLOATS;

    if (v.kind == CFX_NONE) {
        cfx_buf_puts(b, "{\"as_none\": true}");
    } else if (v.kind == CFX_NODE) {
        cfx_buf_puts(b, form == OPTIONAL ? "{\"as_tensor\": {\"name\": "
                        : symbolic       ? "{\"as_name\": "
                                         : "{\"name\": ");
        cfx_pt2__put_name(b, cfx_pt2__name_of(w, v.u.node));
        cfx_buf_puts(b, form == OPTIONAL ? "}}" : "}");
    } else {
        if (symbolic)
            cfx_buf_puts(b, form == SYM_INTS ? "{\"as_int\": "
                                             : "{\"as_float\": ");
        put_literal(b, form == FLOATS || form == SYM_FLOATS
                           ? cfx_float(cfx_value_number(v))
                           : v);
        if (symbolic)
            cfx_buf_putc(b, '}');
    }
}

/* Lists nest once: those in a list of lists have no such form. */
static cfx_status put_items(cfx_pt2_writer *w, const cfx_seq *seq,
                            enum form form, cfx_error *err)
{
    cfx_status st = CFX_OK;

    cfx_buf_putc(w->out, '[');
    for (uint32_t i = 0; i < seq->len && !st; i++) {
        cfx_value v = seq->item[i];
        cfx_pt2__put_comma(w->out);
        if (!fits(form, v))
            st = cfx_fail(
                err, CFX_EUNSUPPORTED,
                "an argument is a list with a %s, which has no form in .pt2",
                cfx_kind_name(kind_in(v)));
        else if (!cfx_value_is_seq(v))
            put_item(w, v, form);
        else
            st = put_items(w, v.u.seq,
                           form == NAME_LISTS    ? NAMES
                           : form == FLOAT_LISTS ? FLOATS
                                                 : INTS,
                           err);
    }
    cfx_buf_putc(w->out, ']');
    return st;
}

static cfx_status put_list(cfx_pt2_writer *w, const cfx_seq *seq,
                           cfx_error *err)
{
    enum form form = form_of(seq);

    cfx_buf_printf(w->out, "{\"%s\": ", forms[form].key);
    cfx_status st = put_items(w, seq, form, err);
    cfx_buf_putc(w->out, '}');
    return st;
}

static cfx_status put_dict(cfx_pt2_writer *w, const cfx_seq *dict,
                           cfx_error *err)
{
    cfx_status st = CFX_OK;

    cfx_buf_puts(w->out, "{\"as_string_to_argument\": {");
    for (uint32_t i = 0; i + 1 < dict->len && !st; i += 2) {
        if (dict->item[i].kind != CFX_STR)
            return cfx_fail(err, CFX_EUNSUPPORTED,
                            "a dict has a key that is not a string");
        cfx_pt2__put_comma(w->out);
        cfx_pt2__put_name(w->out, dict->item[i].u.str->text);
        cfx_buf_puts(w->out, ": ");
        st = cfx_pt2__put_argument(w, dict->item[i + 1], NULL, err);
    }
    cfx_buf_puts(w->out, "}}");
    return st;
}

/* ---- The union ---- */

/* A call with several results, all of which are an argument. */
static cfx_status put_item_names(cfx_pt2_writer *w, const cfx_node *n,
                                 cfx_error *err)
{
    cfx_value val = cfx_pt2__val(n);
    cfx_status st = CFX_OK;

    cfx_buf_puts(w->out, "{\"as_tensors\": [");
    for (uint32_t i = 0; i < val.u.seq->len && !st; i++) {
        const cfx_node *item = cfx_pt2__item_of(n, i);
        cfx_pt2__put_comma(w->out);
        cfx_buf_puts(w->out, "{\"name\": ");
        if (!item)
            return no_value(n, err);
        cfx_pt2__put_name(w->out, item->name);
        cfx_buf_putc(w->out, '}');
    }
    cfx_buf_puts(w->out, "]}");
    return st;
}

static cfx_status put_number(cfx_buf *b, cfx_value v, const cfx_param *param)
{
    bool real = v.kind == CFX_FLOAT ||
                (param && v.kind == CFX_INT && param->base == CFX_T_FLOAT);

    cfx_buf_puts(b, v.kind == CFX_BOOL_VALUE ? "{\"as_bool\": "
                    : real                   ? "{\"as_float\": "
                                             : "{\"as_int\": ");
    if (real)
        cfx_pt2__put_float(b, cfx_value_number(v));
    else
        put_literal(b, v);
    cfx_buf_putc(b, '}');
    return CFX_OK;
}

static cfx_status put_complex(cfx_buf *b, const cfx_seq *parts)
{
    cfx_buf_puts(b, "{\"as_complex\": {\"real\": ");
    cfx_pt2__put_float(b, parts->item[0].u.f);
    cfx_buf_puts(b, ", \"imag\": ");
    cfx_pt2__put_float(b, parts->item[1].u.f);
    cfx_buf_puts(b, "}}");
    return CFX_OK;
}

cfx_status cfx_pt2__put_argument(cfx_pt2_writer *w, cfx_value v,
                                 const cfx_param *param, cfx_error *err)
{
    cfx_buf *b = w->out;

    switch ((cfx_kind)v.kind) {
    case CFX_NONE: cfx_buf_puts(b, "{\"as_none\": true}"); return CFX_OK;
    case CFX_BOOL_VALUE:
    case CFX_INT:
    case CFX_FLOAT: return put_number(b, v, param);
    case CFX_COMPLEX: return put_complex(b, v.u.seq);
    case CFX_STR:
        cfx_buf_puts(b, "{\"as_string\": ");
        put_literal(b, v);
        cfx_buf_putc(b, '}');
        return CFX_OK;
    case CFX_DTYPE:
        cfx_buf_printf(b, "{\"as_scalar_type\": %d}",
                       cfx_pt2__number_of_dtype(v.u.dtype));
        return CFX_OK;
    case CFX_MEMORY_FORMAT:
        cfx_buf_printf(b, "{\"as_memory_format\": %d}",
                       cfx_pt2__number_of_format(v.u.format));
        return CFX_OK;
    case CFX_LAYOUT: cfx_buf_puts(b, "{\"as_layout\": 7}"); return CFX_OK;
    case CFX_DEVICE:
        cfx_buf_puts(b, "{\"as_device\": ");
        cfx_pt2__put_device(b, v.u.str->text);
        cfx_buf_putc(b, '}');
        return CFX_OK;
    case CFX_TUPLE:
    case CFX_LIST: return put_list(w, v.u.seq, err);
    case CFX_DICT: return put_dict(w, v.u.seq, err);
    case CFX_NODE:
        return cfx_value_is_seq(cfx_pt2__val(v.u.node))
                   ? put_item_names(w, v.u.node, err)
                   : cfx_pt2__put_node(w, v.u.node, err);
    default:
        return cfx_fail(err, CFX_EUNSUPPORTED,
                        "an argument is a %s, which has no form in .pt2",
                        cfx_kind_name((cfx_kind)v.kind));
    }
}
