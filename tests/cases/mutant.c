/*
 * mutant -- what is changed in a case, by chance.
 *
 * Most changes keep what makes a call valid: an extent that occurs in several
 * places becomes another in all of them, and in the numbers that are equal to
 * it. The others try what is beyond.
 */
#include "tests/cases/mutant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t mutant_bits(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

int64_t mutant_below(uint64_t *state, int64_t n)
{
    return (int64_t)(mutant_bits(state) % (uint64_t)n);
}

bool mutant_chance(uint64_t *state, int n)
{
    return mutant_below(state, n) == 0;
}

/* Pick a random node of a kind; NULL if there is none. */
static mutant_node *pick(mutant *m, uint64_t *state, mutant_kind kind)
{
    int at[MUTANT_NODES], n = 0;
    for (int k = 1; k < m->n; k++)
        if (m->node[k].kind == kind && !m->node[k].dead)
            at[n++] = k;
    return n ? &m->node[at[mutant_below(state, n)]] : NULL;
}

/* Elements that are written out are so many; another tensor takes them from
 * their range. */
static void spread_fill(mutant_node *t)
{
    double lo = 0, hi = 0;
    bool any = false;
    if (t->text[0] != '=')
        return;
    for (char *p = t->text + 2; *p && *p != '}';) {
        char *end;
        double v = !strncmp(p, "true", 4) ? 1 : strtod(p, &end);
        if (v > -1e6 && v < 1e6) {
            lo = any && lo < v ? lo : v;
            hi = any && hi > v ? hi : v;
            any = true;
        }
        p += strcspn(p, ",}");
        p += *p == ',';
    }
    bool whole = strchr("iub", t->dtype[0]) && strcmp(t->dtype, "bf16");
    if (whole && any)
        snprintf(t->text, sizeof(t->text), "#%d:%d", (int)lo, (int)hi + 1);
    else
        t->text[0] = '\0';
}

/* ---- Extents ---- */

static int64_t some_extent(uint64_t *state)
{
    static const int64_t extent[] = {0, 1, 1, 1, 2, 2, 3,  3,  4,
                                     4, 5, 6, 7, 8, 9, 10, 12, 16};
    return extent[mutant_below(state, sizeof(extent) / sizeof(*extent))];
}

static void set_extent(mutant_node *t, int axis, int64_t v)
{
    if (t->shape[axis] == v)
        return;
    spread_fill(t);
    t->shape[axis] = v;
}

static bool pick_extent(mutant *m, uint64_t *state, int64_t *v)
{
    const mutant_node *t = pick(m, state, MUTANT_TENSOR);
    if (!t || !t->rank)
        return false;
    *v = t->shape[mutant_below(state, t->rank)];
    return true;
}

/* Change an extent in all tensors, and in numbers that equal it. */
static void change_everywhere(mutant *m, uint64_t *state)
{
    int64_t old, v = some_extent(state);
    if (!pick_extent(m, state, &old))
        return;
    bool numbers = old > 1 && !mutant_chance(state, 3);
    for (int k = 1; k < m->n; k++) {
        mutant_node *t = &m->node[k];
        if (t->kind == MUTANT_INT && numbers && t->i == old)
            t->i = v;
        for (int i = 0; t->kind == MUTANT_TENSOR && i < t->rank; i++)
            if (t->shape[i] == old)
                set_extent(t, i, v);
    }
}

/* The axis of that number from the front, or from the end, in all tensors
 * that have the same extent there. */
static void change_axis(mutant *m, uint64_t *state)
{
    const mutant_node *t = pick(m, state, MUTANT_TENSOR);
    bool front = mutant_chance(state, 2);
    if (!t || !t->rank)
        return;
    int at = (int)mutant_below(state, t->rank);
    int64_t old = t->shape[front ? at : t->rank - 1 - at];
    int64_t v = some_extent(state);
    for (int k = 1; k < m->n; k++) {
        mutant_node *u = &m->node[k];
        int axis = front ? at : u->rank - 1 - at;
        if (u->kind == MUTANT_TENSOR && axis >= 0 && axis < u->rank &&
            u->shape[axis] == old)
            set_extent(u, axis, v);
    }
}

static void change_one(mutant *m, uint64_t *state)
{
    mutant_node *t = pick(m, state, MUTANT_TENSOR);
    if (t && t->rank)
        set_extent(t, (int)mutant_below(state, t->rank), some_extent(state));
}

/* An axis that is broadcast, in one of the tensors. */
static void change_to_one(mutant *m, uint64_t *state)
{
    mutant_node *t = pick(m, state, MUTANT_TENSOR);
    if (t && t->rank)
        set_extent(t, (int)mutant_below(state, t->rank), 1);
}

/* ---- Ranks ---- */

static bool insert_axis(mutant_node *t, int axis, int64_t extent)
{
    if (t->rank >= 6)
        return false;
    for (int i = t->rank; i > axis; i--) {
        t->shape[i] = t->shape[i - 1];
        t->gap[i] = t->gap[i - 1];
    }
    for (int i = 0; i < t->rank; i++)
        t->order[i] += t->order[i] >= axis;
    t->order[t->rank++] = axis;
    t->shape[axis] = extent;
    t->gap[axis] = 1;
    /* The outermost in memory unless it is all row-major. */
    if (!t->strided)
        for (int i = 0; i < t->rank; i++)
            t->order[i] = t->rank - 1 - i;
    return true;
}

static void remove_axis(mutant_node *t, int axis)
{
    int n = 0;
    for (int i = axis; i + 1 < t->rank; i++) {
        t->shape[i] = t->shape[i + 1];
        t->gap[i] = t->gap[i + 1];
    }
    for (int i = 0; i < t->rank; i++)
        if (t->order[i] != axis)
            t->order[n++] = t->order[i] - (t->order[i] > axis);
    t->rank--;
}

/* A new first axis for one tensor, or for all of its rank; or none. */
static void change_rank(mutant *m, uint64_t *state)
{
    const mutant_node *t = pick(m, state, MUTANT_TENSOR);
    if (!t)
        return;
    int rank = t->rank;
    bool all = !mutant_chance(state, 4), more = mutant_chance(state, 2);
    int64_t extent = some_extent(state);
    for (int k = 1; k < m->n; k++) {
        mutant_node *u = &m->node[k];
        if (u->kind != MUTANT_TENSOR || u->rank != rank || (!all && u != t))
            continue;
        spread_fill(u);
        if (more)
            insert_axis(u, 0, extent);
        else if (rank)
            remove_axis(u, 0);
    }
}

/* ---- Strides ---- */

static void transpose_memory(mutant_node *t, uint64_t *state)
{
    for (int i = t->rank - 1; i > 0; i--) {
        int j = (int)mutant_below(state, i + 1), axis = t->order[i];
        t->order[i] = t->order[j];
        t->order[j] = axis;
    }
}

/* Channels last, of which the order is C, then the others from the end. */
static void channels_last(mutant_node *t)
{
    int n = 0;
    if (t->rank < 3)
        return;
    t->order[n++] = 1;
    for (int i = t->rank - 1; i >= 0; i--)
        if (i != 1)
            t->order[n++] = i;
}

static void change_strides(mutant *m, uint64_t *state)
{
    mutant_node *t = pick(m, state, MUTANT_TENSOR);
    if (!t || !t->rank)
        return;
    t->strided = true;
    int axis = (int)mutant_below(state, t->rank);
    switch (mutant_below(state, 8)) {
    case 0:
    case 1:
    case 2: transpose_memory(t, state); break;
    case 3:
    case 4: channels_last(t); break;
    case 5:
    case 6: t->gap[axis] = 2 + (int)mutant_below(state, 2); break;
    default:
        t->gap[axis] = strchr(m->target, '_') &&
                               m->target[strlen(m->target) - 1] == '_'
                           ? 1
                           : 0;
        break;
    }
}

/* All tensors of a rank in the same other order. */
static void change_all_strides(mutant *m, uint64_t *state)
{
    const mutant_node *t = pick(m, state, MUTANT_TENSOR);
    if (!t)
        return;
    mutant_node like = *t;
    bool last = mutant_chance(state, 2);
    transpose_memory(&like, state);
    if (last)
        channels_last(&like);
    for (int k = 1; k < m->n; k++) {
        mutant_node *u = &m->node[k];
        if (u->kind != MUTANT_TENSOR || u->rank != like.rank || !u->rank)
            continue;
        memcpy(u->order, like.order, sizeof(u->order));
        u->strided = true;
    }
}

/* ---- Types ---- */

static bool is_whole(const char *dtype)
{
    return (dtype[0] == 'b' && dtype[1] == 'o') || dtype[0] == 'i' ||
           dtype[0] == 'u';
}

static void set_dtype(mutant_node *t, const char *dtype)
{
    spread_fill(t);
    if (is_whole(t->dtype) != is_whole(dtype))
        t->text[0] = '\0';
    if (!strcmp(dtype, "bool") && t->text[0])
        t->text[0] = '\0';
    snprintf(t->dtype, sizeof(t->dtype), "%s", dtype);
}

/* Another type for all tensors of one, or for one of them. */
static void change_type(mutant *m, uint64_t *state)
{
    static const char *const type[] = {"f32", "f64", "f16", "bf16", "f32",
                                       "f64", "i64", "i32", "u8",   "bool"};
    char old[8];
    const mutant_node *t = pick(m, state, MUTANT_TENSOR);
    if (!t)
        return;
    bool all = !mutant_chance(state, 4);
    /* Mostly one of the same kind. */
    int64_t n = is_whole(t->dtype) || mutant_chance(state, 3) ? 10 : 6;
    const char *new = type[mutant_below(state, n)];
    memcpy(old, t->dtype, sizeof(old));
    for (int k = 1; k < m->n; k++) {
        mutant_node *u = &m->node[k];
        if (u->kind == MUTANT_TENSOR &&
            (all ? !strcmp(u->dtype, old) : u == t))
            set_dtype(u, new);
    }
}

/* ---- Numbers ---- */

static void change_int(mutant *m, uint64_t *state)
{
    mutant_node *v = pick(m, state, MUTANT_INT);
    if (!v)
        return;
    switch (mutant_below(state, 6)) {
    case 0: v->i += v->i < INT64_MAX; break;
    case 1: v->i -= v->i > INT64_MIN; break;
    case 2: v->i = ~v->i; break;
    case 3: v->i = mutant_below(state, 4) - 1; break;
    case 4: v->i = mutant_below(state, 16) - 6; break;
    default:
        v->i = pick(m, state, MUTANT_TENSOR) ? v->i % 64 * 2
                                             : mutant_below(state, 300);
        break;
    }
}

static void change_number(mutant *m, uint64_t *state)
{
    mutant_node *v = pick(m, state, MUTANT_FLOAT);
    if (!v) {
        change_int(m, state);
        return;
    }
    static const double other[] = {0.0, 1.0, -1.0, 0.5, 2.5, 1e-3, -0.75};
    v->f = mutant_chance(state, 2) ? other[mutant_below(state, 7)]
                                   : (double)mutant_below(state, 4000) / 1e3;
}

static void change_bool(mutant *m, uint64_t *state)
{
    mutant_node *v = pick(m, state, MUTANT_BOOL);
    if (v)
        v->i = !v->i;
    else
        change_number(m, state);
}

/* Leave an argument with a keyword, or an item of a list, out. */
static void drop_something(mutant *m, uint64_t *state)
{
    mutant_node *list = pick(m, state, MUTANT_ITEMS);
    int n = 0;
    if (!list || !list->first || list->text[0])
        return;
    bool arguments = list == &m->node[m->args] || list == &m->node[m->made];
    for (int k = list->first; k; k = m->node[k].next)
        n++;
    for (int k = list->first; k; k = m->node[k].next)
        if (mutant_chance(state, n) && (!arguments || m->node[k].key[0])) {
            m->node[k].dead = true;
            return;
        }
}

/* An item of a list for a second time. */
static void repeat_item(mutant *m, uint64_t *state)
{
    mutant_node *list = pick(m, state, MUTANT_ITEMS);
    if (!list || !list->first || m->n == MUTANT_NODES || list->text[0] ||
        list->open == '{' || list == &m->node[m->args] ||
        list == &m->node[m->made])
        return;
    int k = list->first, new = m->n++;
    while (m->node[k].next && !mutant_chance(state, 2))
        k = m->node[k].next;
    m->node[new] = m->node[k];
    m->node[k].next = new;
}

/* ---- Kinds ---- */

bool mutant_add_keyword(mutant *m, const char *name)
{
    int *link = &m->node[m->args].first;
    if (m->n == MUTANT_NODES)
        return false;
    while (*link)
        link = &m->node[*link].next;
    *link = m->n;
    mutant_node *v = &m->node[m->n++];
    *v = (mutant_node){.kind = MUTANT_WORD, .text = "None"};
    snprintf(v->key, sizeof(v->key), "%.30s=", name);
    return true;
}

/* The place with that number among items and their items; counts down *at. */
static mutant_node *find_place(mutant *m, const mutant_node *list, int *at)
{
    for (int k = list->first; k; k = m->node[k].next) {
        mutant_node *v = &m->node[k];
        if (!(*at)--)
            return v;
        mutant_node *item = v->kind == MUTANT_ITEMS && !v->text[0]
                                ? find_place(m, v, at)
                                : NULL;
        if (item)
            return item;
    }
    return NULL;
}

bool mutant_replace(mutant *m, int place, int kind)
{
    /* clang-format off */
    static const char *const value[] = {
        "3", "-1", "9223372036854775807", "-9223372036854775808", "2.5", "nan",
        "complex(1.0, 2.0)", "True", "None", "'a'", "[1, 2]", "[2.5]",
        "[True, None]", "['a']", "[]", "(1,)", "(1, [2.5])", "[[1, 2], [3]]",
        "{'a': 1}", "{}", "slice(1, 2)", "range(3)", "...", "torch.float32",
        "torch.contiguous_format", "device('cpu')", "f32[2,3]", "f32[]",
        "i64[2]#0:2", "i64[]", "bool[2,3]", "bool[]", "f32[0]", "c64[2]",
        "f16[3]", "[f32[2,3], f32[2,3]]", "[f32[2], None]", "(i64[1],)",
    };
    /* clang-format on */
    char key[sizeof(m->node->key)];
    if (kind == sizeof(value) / sizeof(*value))
        return false;
    mutant_node *v = m->made ? find_place(m, &m->node[m->made], &place) : NULL;
    if (!v)
        v = find_place(m, &m->node[m->args], &place);
    if (!v)
        return false;
    int next = v->next;
    memcpy(key, v->key, sizeof(key));
    *v = (mutant_node){.kind = MUTANT_WORD, .next = next};
    memcpy(v->key, key, sizeof(key));
    snprintf(v->text, sizeof(v->text), "%s", value[kind]);
    return true;
}

/* ---- Together ---- */

typedef void change_fn(mutant *m, uint64_t *state);

void mutant_change_shapes(mutant *m, uint64_t *state)
{
    static change_fn *const change[] = {
        change_everywhere,  change_everywhere, change_everywhere,
        change_axis,        change_axis,       change_strides,
        change_all_strides, change_number,
    };
    change[mutant_below(state, 8)](m, state);
}

void mutant_change(mutant *m, uint64_t *state)
{
    static change_fn *const change[] = {
        change_everywhere, change_everywhere, change_everywhere,
        change_axis,       change_axis,       change_one,
        change_to_one,     change_rank,       change_rank,
        change_strides,    change_strides,    change_all_strides,
        change_type,       change_int,        change_int,
        change_number,     change_bool,       drop_something,
        repeat_item,
    };
    int64_t n = sizeof(change) / sizeof(*change);
    change[mutant_below(state, n)](m, state);
}

void mutant_spoil(mutant *m, uint64_t *state)
{
    /* clang-format off */
    static const int64_t bad[] = {
        0, 0, -1, -1, 1, 2, -2, INT64_MIN, INT64_MAX, INT64_MIN + 1,
        (int64_t)1 << 61, -((int64_t)1 << 61), (int64_t)1 << 31,
        ((int64_t)1 << 31) - 1, -((int64_t)1 << 31), (int64_t)1 << 32,
        (int64_t)1 << 62, ((int64_t)1 << 61) - 1, (int64_t)1 << 40, 300,
    };
    /* clang-format on */
    mutant_node *v = pick(m, state, MUTANT_INT);
    if (v)
        v->i = bad[mutant_below(state, sizeof(bad) / sizeof(*bad))];
    else
        drop_something(m, state);
}
