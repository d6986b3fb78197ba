/*
 * print_modules -- the tree of modules: repr(module).
 *
 * A line shows the arguments in the type's `.repr`. The superset adds hidden
 * arguments that are not the default, `undecided=('p',)` and `training=True`,
 * and prints the arguments of a module with children on its first line.
 * ModuleLists fold equal neighbours: `(0-11): 12 x Layer(`.
 */
#include <stdio.h>

#include "format/print.h"
#include "format/text/repr.h"
#include "nn/module_impl.h"
#include "op/op_impl.h"

/* ---- Arguments ---- */

/* Does a child of the module imply the argument's value? */
static bool is_derived(const cfx_module *m, const cfx_param *p, cfx_value v)
{
    const char *derived = m->type->derive;
    cfx_derived item;
    while (cfx_derived_next(&derived, &item)) {
        if (strlen(p->name) != item.param_len ||
            memcmp(p->name, item.param, item.param_len))
            continue;
        for (size_t i = 0; i < m->nchildren; i++) {
            const cfx_module *c = m->child[i];
            if (strlen(c->name) != item.child_len || !c->schema ||
                memcmp(c->name, item.child, item.child_len))
                continue;
            int k = cfx_param_find(c->schema, item.attr, item.attr_len);
            if (k >= 0 && cfx_value_equal(c->attrs.in[k], v))
                return true;
        }
    }
    return false;
}

static void put_argument(cfx_out *o, const char *name, size_t len, cfx_value v,
                         int style, bool *any, cfx_error *err)
{
    cfx_out_puts(o, *any ? ", " : "");
    *any = true;
    if (name) {
        cfx_out_add(o, name, len);
        cfx_out_putc(o, '=');
    }
    cfx_out__value(&(cfx_values){.out = o, .style = style, .err = err}, v);
}

/* A tuple of the names of the arguments that are undecided. */
static void put_undecided(cfx_out *o, const cfx_module *m, bool *any)
{
    const char *before = *any ? ", undecided=('" : "undecided=('";
    for (int k = 0; m->undecided >> k; k++)
        if (m->undecided >> k & 1) {
            cfx_out_puts(o, before);
            cfx_out_puts(o, m->schema->params[k].name);
            cfx_out_putc(o, '\'');
            before = ", '";
            *any = true;
        }
    if (m->undecided)
        cfx_out_puts(o, m->undecided & (m->undecided - 1) ? ")" : ",)");
}

static void put_hidden(cfx_out *o, const cfx_module *m, bool *any,
                       cfx_error *err)
{
    for (int k = 0; m->schema && k < m->schema->nparams; k++) {
        const cfx_param *p = &m->schema->params[k];
        cfx_value v = m->attrs.in[k];
        bool must = p->required ||
                    cfx_module__lists(m->type->must_give, p->name);
        if (cfx_shown_has(m->type->repr, p->name) || is_derived(m, p, v) ||
            (!must && cfx_is_default(p, v)))
            continue;
        put_argument(o, p->name, strlen(p->name), v, CFX_STYLE_LOSSLESS, any,
                     err);
    }
    put_undecided(o, m, any);
    if (m->training)
        put_argument(o, "training", 8, cfx_bool(true), CFX_STYLE_LOSSLESS, any,
                     err);
}

/* State of one number; the weights file has more than that. */
static void put_state(cfx_out *o, const cfx_module *m, bool *any,
                      cfx_error *err)
{
    cfx_shown item;
    for (const char *names = m->type->repr_state;
         cfx_shown_next(&names, &item);) {
        const char *name = NULL;
        const cfx_tensor *t = NULL;
        for (size_t i = 0; i < m->nstate && !name; i++)
            if (strlen(m->state[i].name) == item.len &&
                !memcmp(m->state[i].name, item.name, item.len)) {
                name = m->state[i].name;
                t = m->state[i].tensor;
            }
        if (!t || t->rank || !t->data)
            continue;
        put_argument(
            o, name, item.len,
            cfx_float(cfx_element_double((cfx_dtype)t->dtype, t->data)),
            CFX_STYLE_REPR, any, err);
    }
}

/* The text between the brackets of a module without children. */
static void put_arguments(cfx_out *o, const cfx_module *m, bool lossless,
                          cfx_error *err)
{
    const char *repr = m->schema ? m->type->repr : NULL;
    cfx_shown item;
    bool any = false;
    while (cfx_shown_next(&repr, &item)) {
        int k = cfx_param_find(m->schema, item.name, item.len);
        if (k < 0)
            continue;
        cfx_value v = m->attrs.in[k];
        if (item.if_changed && cfx_is_default(&m->schema->params[k], v))
            continue;
        put_argument(o, item.alone ? NULL : item.name, item.len, v,
                     lossless    ? (int)CFX_STYLE_LOSSLESS
                     : item.bare ? (int)CFX_STYLE_STR
                                 : (int)CFX_STYLE_REPR,
                     &any, err);
    }
    if (lossless)
        put_hidden(o, m, &any, err);
    else if (m->schema)
        put_state(o, m, &any, err);
}

/* ---- Folding ---- */

typedef struct folder {
    cfx_buf a, b;
    bool lossless;
    cfx_error *err;
} folder;

static bool same_line(folder *f, const cfx_module *a, const cfx_module *b)
{
    const cfx_module *m[] = {a, b};
    cfx_buf *text[] = {&f->a, &f->b};
    if (a->type != b->type || strcmp(a->class_name, b->class_name))
        return false;
    for (int i = 0; i < 2; i++) {
        cfx_out out;
        cfx_buf_clear(text[i]);
        cfx_out_init(&out, cfx_sink_buf(text[i]));
        put_arguments(&out, m[i], f->lossless, f->err);
        if (cfx_out_finish(&out, f->err))
            return false;
    }
    return f->a.len == f->b.len &&
           !memcmp(cfx_buf_str(&f->a), cfx_buf_str(&f->b), f->a.len);
}

/* Do two trees print the same? */
static bool same_tree(folder *f, const cfx_module *a, const cfx_module *b)
{
    const cfx_module *x = a, *y = b;
    while (x && y) {
        if (x->nchildren != y->nchildren || !same_line(f, x, y) ||
            (x != a && strcmp(x->name, y->name)))
            return false;
        x = cfx_module_next(x, a);
        y = cfx_module_next(y, b);
    }
    return !x && !y;
}

/* Is child i called by its number? The superset folds no others. */
static bool is_numbered(const cfx_module *m, size_t i)
{
    char number[24];
    snprintf(number, sizeof(number), "%zu", i);
    return !strcmp(m->child[i]->name, number);
}

/* The number of children from i on that print the same. */
static size_t run_length(folder *f, const cfx_module *m, size_t i)
{
    size_t n = 1;
    if (f->lossless && !is_numbered(m, i))
        return 1;
    while (i + n < m->nchildren && (!f->lossless || is_numbered(m, i + n)) &&
           same_tree(f, m->child[i], m->child[i + n]))
        n++;
    return n;
}

/* ---- The tree ---- */

typedef struct level {
    const cfx_module *m;
    size_t next; /* the next child to print */
} level;

typedef struct tree_printer {
    cfx_out *out;
    cfx_context *ctx;
    level *level;
    size_t nlevels, cap;
    folder folder;
    bool lossless;
    cfx_error *err;
} tree_printer;

/* The keys that cannot be written between brackets, and are quoted. */
static const char odd_key[] = "()";

static void put_key(tree_printer *p, const cfx_module *parent, size_t i,
                    size_t n)
{
    cfx_out *o = p->out;
    cfx_out_putc(o, '(');
    if (n == 1 && (p->lossless || strcmp(parent->class_name, "ModuleList"))) {
        cfx_print__word(o, parent->child[i]->name, odd_key, p->lossless);
    } else {
        cfx_out_int(o, (int64_t)i);
        if (n > 1) {
            cfx_out_putc(o, '-');
            cfx_out_int(o, (int64_t)(i + n - 1));
        }
    }
    cfx_out_puts(o, "): ");
    if (n > 1) {
        cfx_out_int(o, (int64_t)n);
        cfx_out_puts(o, " x ");
    }
}

static void new_line(tree_printer *p)
{
    cfx_out_putc(p->out, '\n');
    cfx_out_repeat(p->out, ' ', 2 * p->nlevels);
}

/* The arguments of a module with children have a line of their own. */
static void put_own_line(tree_printer *p, const cfx_module *m)
{
    cfx_buf *text = &p->folder.a;
    cfx_out out;
    cfx_buf_clear(text);
    cfx_out_init(&out, cfx_sink_buf(text));
    put_arguments(&out, m, false, p->err);
    cfx_out_fail(p->out, cfx_out_finish(&out, p->err));
    if (text->len) {
        new_line(p);
        cfx_out_add(p->out, text->s, text->len);
    }
}

/* Print a module's line; one with children becomes the innermost level. */
static bool enter(tree_printer *p, const cfx_module *m)
{
    cfx_out_puts(p->out, m->class_name);
    cfx_out_putc(p->out, '(');
    if (!m->nchildren) {
        put_arguments(p->out, m, p->lossless, p->err);
        cfx_out_putc(p->out, ')');
        return true;
    }
    if (cfx_grow(p->ctx, p->level, p->cap, p->nlevels + 1, NULL))
        return false;
    p->level[p->nlevels++] = (level){m, 0};
    if (p->lossless)
        put_arguments(p->out, m, true, p->err);
    else
        put_own_line(p, m);
    return true;
}

static bool step(tree_printer *p)
{
    level *top = &p->level[p->nlevels - 1];
    const cfx_module *m = top->m;
    if (top->next == m->nchildren) {
        p->nlevels--;
        new_line(p);
        cfx_out_putc(p->out, ')');
        return true;
    }
    size_t i = top->next, n = 1;
    if (!strcmp(m->class_name, "ModuleList"))
        n = run_length(&p->folder, m, i);
    top->next += n;
    new_line(p);
    put_key(p, m, i, n);
    return enter(p, m->child[i]);
}

void cfx_print__tree(cfx_out *o, const cfx_module *m, bool lossless,
                     cfx_error *err)
{
    cfx_error own = {.code = CFX_OK};
    tree_printer p = {.out = o,
                      .ctx = m->ctx,
                      .lossless = lossless,
                      .err = err ? err : &own};
    p.folder.lossless = lossless;
    p.folder.err = p.err;
    cfx_buf_init(&p.folder.a, m->ctx);
    cfx_buf_init(&p.folder.b, m->ctx);
    bool ok = enter(&p, m);
    while (ok && p.nlevels && !o->status && !p.err->code)
        ok = step(&p);
    if (!ok)
        cfx_out_fail(o, CFX_ENOMEM);
    if (p.err->code)
        cfx_out_fail(o, p.err->code);
    cfx_buf_release(&p.folder.a);
    cfx_buf_release(&p.folder.b);
    cfx_free(p.ctx, p.level, p.cap * sizeof(*p.level));
}

cfx_status cfx_print_modules(cfx_sink to, const cfx_module *m, cfx_error *err)
{
    cfx_out out;
    cfx_out_init(&out, to);
    cfx_print__tree(&out, m, false, err);
    return cfx_out_finish(&out, err);
}
