/*
 * onnx_numbers -- operators on the numbers of shapes, evaluated as extents.
 *
 * The numbers of a small tensor are known if they are constants, or ints that
 * extents give: symbols, until the inputs are known. An operator on such
 * numbers gives numbers again, by its row in number_rules.c, which computes them
 * one by one. What has no such form is computed as a tensor, by the rule.
 *
 * Operators that move elements, or add some of them, are not written anew: their
 * rules are called with places, or with ones, for the numbers.
 */
#include <math.h>
#include <stdlib.h>

#include "base/convert.h"
#include "format/onnx/onnx_numbers.h"

/* More numbers are a tensor. */
enum { MAX_NUMBERS = 256, MAX_PROBES = 32 };

typedef struct numbers {
    cfx_dtype type;
    int rank;
    int64_t shape[CFX_MAX_RANK];
    size_t n;
    onnx_fraction *item;
    bool rounded; /* quotients that floats have not exactly */
} numbers;

/* ---- Numbers of values ---- */

static size_t count_of(int rank, const int64_t *shape)
{
    size_t n = 1;

    for (int i = 0; i < rank && n <= MAX_NUMBERS; i++)
        n *= shape[i] <= MAX_NUMBERS ? (size_t)shape[i] : MAX_NUMBERS + 1;
    return n;
}

/* Room for numbers of that shape; false if they are too many. */
static bool make_room(onnx_node *n, numbers *to)
{
    to->n = count_of(to->rank, to->shape);
    to->item = to->n <= MAX_NUMBERS
                   ? onnx_alloc(n->s, to->n + 1, sizeof(*to->item))
                   : NULL;
    return to->item != NULL;
}

/* A float as an int by a power of 2. */
static bool of_float(double f, onnx_fraction *out)
{
    *out = onnx_whole(cfx_int(0));
    for (; f != floor(f) && out->divisor < ONNX_MAX_DIVISOR; out->divisor *= 2)
        f *= 2;
    if (f != floor(f) || fabs(f) > 1 << 30)
        return false;
    out->v = cfx_int((int64_t)f);
    return true;
}

static bool of_tensor(onnx_node *n, const cfx_tensor *t, numbers *out)
{
    cfx_dtype type = (cfx_dtype)t->dtype;
    bool is_float = type == CFX_F32 || type == CFX_F64;
    cfx_tensor *row;

    *out = (numbers){.type = type, .rank = t->rank};
    if (!is_float && type != CFX_I64 && type != CFX_I32 && type != CFX_BOOL)
        return false;
    for (int i = 0; i < t->rank; i++)
        out->shape[i] = cfx_tensor_size(t, i);
    if (!make_room(n, out) || cfx_tensor_contiguous(&row, t, &n->s->error))
        return false;
    bool ok = true;
    for (size_t i = 0; i < out->n && ok; i++) {
        const char *at = (const char *)row->data + i * cfx_dtype_size(type);
        out->item[i] = onnx_whole(CFX_NOTHING);
        if (is_float)
            ok = of_float(cfx_element_double(type, at), &out->item[i]);
        else
            out->item[i].v = cfx_int(cfx_element_int(type, at));
    }
    cfx_tensor_unref(row);
    return ok;
}

static const numbers *recorded(onnx_node *n, cfx_value v)
{
    return v.kind == CFX_NODE
               ? onnx_address_get(&n->importer->r.numbers, v.u.node)
               : NULL;
}

/* Is a value one of ints that may be symbols, and no tensor of constants? */
static bool is_of_extents(onnx_node *n, cfx_value v)
{
    return onnx_is_known(n->s, v) || recorded(n, v);
}

static bool numbers_of(onnx_node *n, cfx_value v, numbers *out)
{
    const numbers *known = recorded(n, v);
    onnx_list list;

    if (known) {
        *out = *known;
        return true;
    }
    if (v.kind == CFX_TENSOR)
        return of_tensor(n, v.u.tensor, out);
    if (!onnx_is_known(n->s, v) || !onnx_ints_known(n, v, &list))
        return false;
    *out = (numbers){.type = CFX_I64, .rank = v.kind == CFX_TUPLE};
    out->shape[0] = (int64_t)list.n;
    if (!make_room(n, out))
        return false;
    for (size_t i = 0; i < list.n; i++)
        out->item[i] = onnx_whole(list.item[i]);
    return true;
}

bool onnx_recorded_ints(onnx_node *n, cfx_value v, onnx_list *out)
{
    const numbers *known = recorded(n, v);

    if (!known || known->rank > 1 || cfx_dtype_is_float(known->type))
        return false;
    out->n = known->n;
    out->item = onnx_alloc(n->s, known->n + 1, sizeof(*out->item));
    for (size_t i = 0; out->item && i < known->n; i++)
        out->item[i] = known->item[i].v;
    return out->item != NULL;
}

static bool all_known(const numbers *v)
{
    bool known = true;

    for (size_t i = 0; i < v->n && known; i++)
        known = v->item[i].v.kind == CFX_INT;
    return known;
}

/* Numbers without symbols, as a constant. */
static cfx_value constant_of(onnx_node *n, const numbers *v)
{
    cfx_scope *s = n->s;
    bool is_float = cfx_dtype_is_float(v->type);
    int64_t shape[] = {(int64_t)v->n};
    cfx_tensor *t;

    if (cfx_tensor_new(&t, s->ctx, is_float ? CFX_F64 : CFX_I64, 1, shape,
                       &s->error))
        return cfx_none();
    for (size_t i = 0; i < v->n; i++) {
        int64_t item = v->item[i].v.u.i;
        if (is_float)
            ((double *)t->data)[i] = (double)item / (double)v->item[i].divisor;
        else
            ((int64_t *)t->data)[i] = item;
    }
    cfx_value x = cfx_scope_take(s, cfx_value_of_tensor(t));
    x = cfx_reshape(s, x, onnx_int_arg(s, (size_t)v->rank, v->shape));
    return cfx_to(s, x, cfx_value_of_dtype(v->type));
}

static void record(onnx_node *n, cfx_value v, const numbers *what)
{
    onnx_recorder *r = &n->importer->r;
    numbers *kept;

    if (v.kind != CFX_NODE || cfx_scope_failed(n->s) ||
        !(kept = onnx_alloc(n->s, 1, sizeof(*kept))))
        return;
    *kept = *what;
    cfx_map_entry *e = onnx_address_put(r, &r->numbers, v.u.node);
    if (e)
        e->v.p = kept;
}

/* The value of numbers; absent if it takes a tensor. */
static cfx_value value_of(onnx_node *n, const numbers *v)
{
    cfx_value *item;

    if (v->type == CFX_I64 && v->rank == 0)
        return v->item[0].v;
    if (v->type == CFX_I64 && v->rank == 1) {
        item = onnx_alloc(n->s, v->n + 1, sizeof(*item));
        for (size_t i = 0; item && i < v->n; i++)
            item[i] = v->item[i].v;
        return item ? onnx_tuple(n->s, v->n, item) : cfx_none();
    }
    return all_known(v) ? constant_of(n, v) : CFX_NOTHING;
}

/* ---- Operators element by element ---- */

/* The shape of operands that are broadcast. */
static bool broadcast(numbers *out, const numbers *x, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        for (int i = 1; i <= x[k].rank; i++) {
            while (out->rank < i) {
                memmove(out->shape + 1, out->shape,
                        (size_t)out->rank * sizeof(*out->shape));
                out->shape[0] = 1;
                out->rank++;
            }
            int64_t *to = &out->shape[out->rank - i];
            int64_t own = x[k].shape[x[k].rank - i];
            if (own != 1 && *to != 1 && own != *to)
                return false;
            *to = own != 1 ? own : *to;
        }
    }
    return true;
}

/* The element of an operand for element i of the result. */
static const onnx_fraction *element(const numbers *x, const numbers *out,
                                    size_t i)
{
    size_t at = 0, step = 1;

    for (int axis = 1; axis <= x->rank; axis++) {
        size_t extent = (size_t)out->shape[out->rank - axis];
        size_t own = (size_t)x->shape[x->rank - axis];
        at += (own == 1 ? 0 : i % extent) * step;
        step *= own;
        i /= extent;
    }
    return &x->item[at];
}

static bool is_power_of_2(int64_t v)
{
    return !(v & (v - 1));
}

/* May an operator take these numbers? Of quotients that are not exact it may
 * only round, since floats would round each step; numbers near the limit, as the
 * ends of slices, it may only move. */
static bool may_take(const onnx_known *how, const numbers *x)
{
    bool moves = how->type == ONNX_OF_SECOND || how->type == ONNX_CAST;
    bool ok = !x->rounded || how->rounds;

    for (size_t i = 0; i < x->n && ok && !moves; i++)
        ok = x->item[i].v.kind != CFX_INT ||
             llabs(x->item[i].v.u.i) < (int64_t)1 << 40;
    return ok;
}

/* The operands of a node; false if they are not known, or none of a rule for
 * numbers. */
static bool read_operands(onnx_node *n, const onnx_known *how, numbers *x)
{
    /* An old form of broadcasting. */
    bool ok = n->nin <= ONNX_MAX_OPERANDS &&
              !(n->opset < 7 && onnx_attr(n, "axis"));

    for (size_t k = 0; k < n->nin && ok; k++) {
        ok = !onnx_has(n, k)
                 ? k > 0
                 : numbers_of(n, n->in[k], &x[k]) && may_take(how, &x[k]);
    }
    return ok;
}

static bool result_type(onnx_node *n, const onnx_known *how, const numbers *x,
                        cfx_dtype *out)
{
    *out = how->type == ONNX_BOOLEAN     ? CFX_BOOL
           : how->type == ONNX_OF_SECOND ? x[1].type
                                         : x[0].type;
    return how->type != ONNX_CAST ||
           onnx_dtype(out, onnx_attr_int(n, "to", 0));
}

static bool by_element(onnx_node *n, const onnx_known *how, numbers *out)
{
    numbers x[ONNX_MAX_OPERANDS] = {{0}};
    onnx_operands of = {.count = n->nin};

    *out = (numbers){0};
    if (!read_operands(n, how, x) || !result_type(n, how, x, &out->type) ||
        !broadcast(out, x, n->nin) || !make_room(n, out))
        return false;
    of.type = x[0].type;
    for (size_t i = 0; i < out->n; i++) {
        for (size_t k = 0; k < n->nin; k++)
            of.item[k] = x[k].item ? element(&x[k], out, i) : NULL;
        if (!onnx_evaluate(n, how, &of, &out->item[i]) ||
            cfx_scope_failed(n->s))
            return false;
        out->rounded = out->rounded || !is_power_of_2(out->item[i].divisor);
    }
    return true;
}

/* ---- Operators that move elements, or combine some ---- */

/* Call the rule with these inputs. Its result, if it is a constant of int64. */
static const cfx_tensor *call_rule(onnx_node *n, cfx_value *in, size_t k)
{
    onnx_node probe = *n;
    cfx_value *out = onnx_alloc(n->s, n->nout + 8, sizeof(*out));

    if (!out || cfx_scope_failed(n->s))
        return NULL;
    probe.in = in;
    probe.out = out;
    out[0] = n->rule->import(&probe);
    cfx_value v = k < n->nout && !cfx_scope_failed(n->s)
                      ? onnx_as_tensor(n->s, out[k])
                      : cfx_none();
    cfx_tensor *row;
    if (v.kind != CFX_TENSOR || v.u.tensor->dtype != CFX_I64 ||
        cfx_tensor_contiguous(&row, v.u.tensor, &n->s->error))
        return NULL;
    return cfx_scope_take(n->s, cfx_value_of_tensor(row)).u.tensor;
}

static bool take_shape(onnx_node *n, numbers *out, const cfx_tensor *t)
{
    out->rank = t->rank;
    for (int i = 0; i < t->rank; i++)
        out->shape[i] = cfx_tensor_size(t, i);
    return make_room(n, out);
}

/* A tensor of that shape: first, first + 1, ..., or all `first` with another
 * number in one place. */
static cfx_value filled(onnx_node *n, const numbers *like, int64_t first,
                        int64_t step)
{
    cfx_scope *s = n->s;
    cfx_tensor *t;

    if (cfx_tensor_new(&t, s->ctx, CFX_I64, like->rank, like->shape,
                       &s->error))
        return cfx_none();
    for (size_t i = 0; i < like->n; i++)
        ((int64_t *)t->data)[i] = first + (int64_t)i * step;
    return cfx_scope_take(s, cfx_value_of_tensor(t));
}

/* Places in the place of numbers tell where each element comes from. The other
 * inputs decide, and have to be constant. */
static bool by_place(onnx_node *n, const onnx_known *how, size_t k,
                     numbers *out)
{
    cfx_value in[ONNX_MAX_OPERANDS + 8] = {{0}};
    numbers x[ONNX_MAX_OPERANDS];
    size_t first[ONNX_MAX_OPERANDS], total = 0;

    if (n->nin > ONNX_MAX_OPERANDS)
        return false;
    for (size_t i = 0; i < n->nin; i++) {
        in[i] = n->in[i];
        first[i] = total;
        if (!(how->data >> (i < 8 ? i : 7) & 1)) {
            if (is_of_extents(n, in[i]) &&
                (!numbers_of(n, in[i], &x[i]) || !all_known(&x[i])))
                return false;
            continue;
        }
        if (!numbers_of(n, in[i], &x[i]) || x[i].type != x[0].type)
            return false;
        in[i] = filled(n, &x[i], (int64_t)total, 1);
        total += x[i].n;
    }
    const cfx_tensor *t = call_rule(n, in, k);
    *out = (numbers){.type = x[0].type};
    if (!t || !take_shape(n, out, t))
        return false;
    for (size_t i = 0; i < out->n; i++) {
        size_t at = (size_t)((int64_t *)t->data)[i], from = n->nin;
        while (from-- > 0)
            if ((how->data >> (from < 8 ? from : 7) & 1) && at >= first[from])
                break;
        if (at >= total)
            return false;
        out->item[i] = x[from].item[at - first[from]];
        out->rounded = out->rounded || x[from].rounded;
    }
    return true;
}

/* The result of the rule where number j of the input is another; NULL if that is
 * no constant. */
static const cfx_tensor *probe(onnx_node *n, const onnx_known *how,
                               const numbers *x, size_t j)
{
    cfx_value in[ONNX_MAX_OPERANDS + 8] = {{0}};

    memcpy(in, n->in, n->nin * sizeof(*in));
    in[0] = filled(n, x, how->base, 0);
    if (in[0].kind != CFX_TENSOR)
        return NULL;
    ((int64_t *)in[0].u.tensor->data)[j] = how->changed;
    return call_rule(n, in, 0);
}

/* Which elements are combined to each of the result: those whose change, one at
 * a time, changes it. */
static bool by_probing(onnx_node *n, const onnx_known *how, numbers *out)
{
    numbers x;

    if (n->nin > ONNX_MAX_OPERANDS || !numbers_of(n, n->in[0], &x) ||
        x.rounded || !x.n || x.n > MAX_PROBES)
        return false;
    *out = (numbers){.type = x.type};
    for (size_t j = 0; j < x.n; j++) {
        const cfx_tensor *t = probe(n, how, &x, j);
        if (!t || (!j && !take_shape(n, out, t)))
            return false;
        for (size_t i = 0; i < out->n; i++) {
            onnx_fraction so_far = out->item[i];
            onnx_operands both = {x.type, 2, {&so_far, &x.item[j]}};
            if (((int64_t *)t->data)[i] == how->base)
                continue;
            if (!so_far.divisor)
                out->item[i] = x.item[j];
            else if (!onnx_evaluate(n, how, &both, &out->item[i]))
                return false;
        }
    }
    for (size_t i = 0; i < out->n; i++)
        if (!out->item[i].divisor)
            out->item[i] = onnx_whole(cfx_int(0));
    return !cfx_scope_failed(n->s);
}

/* ---- Calling ---- */

static bool concerns(onnx_node *n)
{
    bool any = false;

    for (size_t i = 0; i < n->nin && !any; i++)
        any = onnx_has(n, i) && is_of_extents(n, n->in[i]);
    return any;
}

static bool evaluate(onnx_node *n, numbers *out)
{
    const onnx_known *how = !*n->rule->domain && concerns(n)
                                ? onnx_find_known(n->rule->name)
                                : NULL;
    bool ok = how && (n->nout == 1 || how->data);

    for (size_t k = 0; k < n->nout && ok; k++)
        ok = how->data     ? by_place(n, how, k, &out[k])
             : how->probes ? by_probing(n, how, &out[k])
                           : by_element(n, how, &out[k]);
    return ok && !cfx_scope_failed(n->s);
}

void onnx_import_node(onnx_node *n)
{
    numbers *out = onnx_alloc(n->s, n->nout + 1, sizeof(*out));
    bool known = out && evaluate(n, out), as_tensor = !known;

    for (size_t k = 0; k < n->nout && known && !cfx_scope_failed(n->s); k++) {
        n->out[k] = value_of(n, &out[k]);
        as_tensor = as_tensor || n->out[k].kind == CFX_ABSENT;
    }
    if (cfx_scope_failed(n->s))
        return;
    if (as_tensor)
        n->out[0] = n->rule->import(n);
    else
        memset(n->seen, true, n->proto->n_attribute);
    for (size_t k = 0; k < n->nout && known && as_tensor; k++)
        record(n, n->out[k], &out[k]);
}
