/*
 * nn_undecided -- constructor arguments that a module's text omits.
 *
 * A module has a bit for each. Parsing a text sets bits; the type (`decide`),
 * the constructor of the parent, the graph (lib/graph/decide.c), a weights
 * file or the caller clear them. A forward that needs an undecided argument
 * fails.
 */
#include "nn/module_impl.h"
#include "op/op_impl.h"
#include "op/scope_impl.h"

bool cfx_module__lists(const char *names, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = names; at && *at;) {
        size_t n = strcspn(at, " ");
        if (n == len && !memcmp(at, name, len))
            return true;
        at += n + strspn(at + n, " ");
    }
    return false;
}

static int find(const cfx_module *m, const char *name)
{
    return m->schema ? cfx_param_find(m->schema, name, strlen(name)) : -1;
}

static bool has_bit(const cfx_module *m, int k)
{
    return k >= 0 && m->undecided >> k & 1;
}

bool cfx_attr_is_undecided(const cfx_module *m, const char *name)
{
    return m->undecided && has_bit(m, find(m, name));
}

cfx_status cfx_module_undecide(cfx_module *m, const char *name, cfx_error *err)
{
    int k = find(m, name);
    if (k < 0)
        return cfx_fail(err, CFX_ENAME, "%s has no argument '%s'",
                        m->class_name, name);
    cfx_module__forget_effects(m);
    m->undecided |= (uint32_t)1 << k;
    return CFX_OK;
}

static void clear(cfx_module *m, uint32_t bits)
{
    if (!(m->undecided & bits))
        return;
    cfx_module__forget_effects(m);
    m->undecided &= ~bits;
}

void cfx_module_decide(cfx_module *m, const char *name)
{
    int k = find(m, name);
    if (k >= 0)
        clear(m, (uint32_t)1 << k);
}

void cfx_module_assume_defaults(cfx_module *m)
{
    for (cfx_module *at = m; at; at = cfx_module_next(at, m))
        clear(at, UINT32_MAX);
}

void cfx_module__decide_as(cfx_module *m, const cfx_module *like)
{
    uint32_t bits = m->type == like->type ? m->undecided & ~like->undecided
                                          : 0;
    for (int k = 0; bits && k < m->schema->nparams; k++)
        if (bits >> k & 1)
            cfx_module__set_attr_take(m, m->schema->params[k].name,
                                      cfx_value_ref(like->attrs.in[k]));
    clear(m, bits);
}

void cfx_module__decide_by_state(cfx_module *m)
{
    if (!m->undecided || !m->type->by_state)
        return;
    for (size_t i = 0; i < m->nstate; i++)
        if (m->state[i].tensor && cfx_tensor_is_meta(m->state[i].tensor))
            return;
    for (int k = 0; k < m->schema->nparams; k++)
        if (cfx_module__lists(m->type->by_state, m->schema->params[k].name))
            clear(m, (uint32_t)1 << k);
}

/* ---- The line to write ---- */

/* The default of a parameter as text. */
static void put_default(cfx_buf *b, const cfx_schema *schema,
                        const cfx_param *p)
{
    const char *at = schema->text;
    size_t len = strlen(p->name);
    while (!p->required && (at = strstr(at, p->name))) {
        bool whole = at > schema->text && at[-1] == ' ' && at[len] == '=';
        at += len;
        if (!whole)
            continue;
        cfx_buf_puts(b, p->init.kind == CFX_DTYPE ? "torch." : "");
        cfx_buf_add(b, at + 1, strcspn(at + 1, ",)"));
        return;
    }
    cfx_buf_puts(b, "...");
}

void cfx_module__put_defaults(cfx_buf *b, const cfx_schema *schema,
                              uint32_t bits)
{
    const char *before = "";
    for (int k = 0; k < schema->nparams; k++) {
        if (!(bits >> k & 1))
            continue;
        cfx_buf_puts(b, before);
        cfx_buf_puts(b, schema->params[k].name);
        cfx_buf_putc(b, '=');
        put_default(b, schema, &schema->params[k]);
        before = ", ";
    }
}

/* `asked` has the bits of the arguments that matter. The message shows all
 * undecided ones, so that one edit suffices. */
static cfx_status refuse(const cfx_module *m, uint32_t asked, cfx_error *err)
{
    cfx_buf b;
    char path[256];
    const char *before = "";
    size_t n = cfx_module_path(m, path, sizeof(path));
    cfx_buf_init(&b, m->ctx);
    for (int k = 0; k < m->schema->nparams; k++)
        if (asked >> k & 1) {
            cfx_buf_puts(&b, before);
            cfx_buf_puts(&b, m->schema->params[k].name);
            before = ", ";
        }
    cfx_buf_puts(&b, ": write it into its line, as in ");
    cfx_buf_puts(&b, m->class_name);
    cfx_buf_puts(&b, m->type->repr && *m->type->repr ? "(..., " : "(");
    cfx_module__put_defaults(&b, m->schema, m->undecided);
    cfx_buf_puts(&b, m->nchildren ? "" : ")");
    cfx_status st = b.failed ? cfx_no_memory(err)
                             : cfx_fail(err, CFX_EUNDECIDED,
                                        "%s: the text of %s does not tell %s",
                                        n ? path : "the root", m->class_name,
                                        cfx_buf_str(&b));
    cfx_buf_release(&b);
    return st;
}

cfx_status cfx_module_check_decided(const cfx_module *m, cfx_error *err)
{
    return m->undecided ? refuse(m, m->undecided, err) : CFX_OK;
}

/* ---- For `forward` ---- */

/* Does the scope neither compute nor record? */
static bool is_shapes_only(const cfx_scope *s)
{
    return s->env && !cfx_scope__records(s);
}

/* The undecided arguments except those in the list. */
static uint32_t without(const cfx_module *m, uint32_t bits, const char *names)
{
    for (int k = 0; names && k < m->schema->nparams; k++)
        if (bits >> k & 1 &&
            cfx_module__lists(names, m->schema->params[k].name))
            bits &= ~((uint32_t)1 << k);
    return bits;
}

static uint32_t that_matter(const cfx_scope *s, const cfx_module *m,
                            uint32_t bits)
{
    if (s->any_arguments)
        return 0;
    return is_shapes_only(s) ? without(m, bits, m->type->numeric) : bits;
}

bool cfx_module__is_decided_for(cfx_scope *s, const cfx_module *m)
{
    uint32_t bits = that_matter(s, m, without(m, m->undecided, m->type->lazy));
    if (bits)
        refuse(m, bits, &s->error);
    return !bits;
}

cfx_value cfx_attr_of(cfx_scope *s, const cfx_module *m, const char *name)
{
    int k = find(m, name);
    if (cfx_scope_failed(s) || k < 0)
        return cfx_none();
    if (has_bit(m, k) && that_matter(s, m, (uint32_t)1 << k)) {
        refuse(m, (uint32_t)1 << k, &s->error);
        return cfx_none();
    }
    return m->attrs.in[k];
}
