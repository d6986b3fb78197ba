/*
 * collective_test -- collectives of ranks that are threads give what PyTorch's gloo
 * gives its processes (oracle/collectives.py wrote golden/collectives.txt).
 */
#include <cfx/comm.h>
#include <cfx/ops.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/golden_text.h"
#include "tests/unit/unit.h"

enum { MAX_RANKS = 8, TEXT = 4096 };

/* ---- A world ---- */

typedef struct rank {
    int at, size;
    cfx_context *ctx;
    const char *line; /* the case */
    char text[TEXT];  /* the result, or the error */
    cfx_status status;
    void (*run)(struct rank *r);
    pthread_t thread;
} rank;

static cfx_context *ctx;

static void setup(void)
{
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, NULL), CFX_OK);
}

static void teardown(void)
{
    cfx_context_free(ctx);
}

static void *rank_main(void *p)
{
    rank *r = p;
    r->run(r);
    if (r->status && cfx_context_comm(r->ctx))
        cfx_comm_stop(cfx_context_comm(r->ctx), 1);
    return NULL;
}

/* Contexts of n ranks, each with one thread. */
static void open_world(rank *r, int n)
{
    cfx_comm *comm[MAX_RANKS];
    const cfx_options o = {.size = sizeof(o), .threads = 1};
    ck_assert_int_eq(cfx_comm_threads_new(comm, ctx, n, NULL), CFX_OK);
    for (int i = 0; i < n; i++) {
        r[i] = (rank){.at = i, .size = n};
        ck_assert_int_eq(cfx_context_new(&r[i].ctx, &o, NULL), CFX_OK);
        ck_assert_int_eq(cfx_context_set_comm_take(r[i].ctx, comm[i], NULL),
                         CFX_OK);
    }
}

static void close_world(rank *r, int n)
{
    for (int i = 0; i < n; i++)
        cfx_context_free(r[i].ctx);
}

static void run_ranks(rank *r, int n, void (*run)(rank *r))
{
    for (int i = 0; i < n; i++) {
        r[i].run = run;
        ck_assert(!pthread_create(&r[i].thread, NULL, rank_main, &r[i]));
    }
    for (int i = 0; i < n; i++)
        pthread_join(r[i].thread, NULL);
}

/* ---- Cases ---- */

/* An input as the oracle fills it; `rows`, unless negative, is its first
 * extent. */
static cfx_value make_input(cfx_scope *s, const char *text, int at, int rows)
{
    char name[16];
    int64_t shape[4];
    int rank_ = 0;
    cfx_dtype type;
    size_t len = strcspn(text, "[");
    memcpy(name, text, len);
    name[len] = '\0';
    assert_each(cfx_dtype_parse(&type, name));
    for (char *p = (char *)text + len + 1; *p && *p != ']'; p += *p == ',')
        shape[rank_++] = strtol(p, &p, 10);
    if (rows >= 0)
        shape[0] = rows;
    cfx_tensor *t;
    assert_each(!cfx_tensor_new(&t, s->ctx, type, rank_, shape, NULL));
    for (int64_t i = 0, n = cfx_tensor_numel(t); i < n; i++) {
        int64_t v = (7 * i + 5 * at) % 6 - 2;
        cfx_element_set_int(type,
                            (char *)t->data + (size_t)i * cfx_dtype_size(type),
                            type == CFX_BOOL ? v > 0 : v);
    }
    return cfx_scope_take(s, cfx_value_of_tensor(t));
}

static void print_tensor(char *to, const cfx_tensor *t)
{
    to += strlen(to);
    to += sprintf(to, "%s[", cfx_dtypes[t->dtype].abbr);
    for (int i = 0; i < t->rank; i++)
        to += sprintf(to, i ? ", %lld" : "%lld",
                      (long long)cfx_tensor_size(t, i));
    to += sprintf(to, "]");
    for (int64_t i = 0, n = cfx_tensor_numel(t); i < n; i++) {
        double part[2];
        const char *p = (const char *)t->data +
                        (size_t)i * cfx_dtype_size((cfx_dtype)t->dtype);
        cfx_element_complex((cfx_dtype)t->dtype, p, part);
        to += sprintf(to,
                      cfx_dtype_is_complex((cfx_dtype)t->dtype) ? " %g+%gj"
                                                                : " %.9g",
                      part[0], part[1]);
    }
}

static cfx_value list_of(cfx_scope *s, size_t n, const cfx_value *item)
{
    return cfx_scope_take(s, cfx_list_new(s->ctx, n, item));
}

static cfx_value numbers(cfx_scope *s, int n, const int *v)
{
    cfx_value item[MAX_RANKS];
    for (int i = 0; i < n; i++)
        item[i] = cfx_int(v[i]);
    return list_of(s, (size_t)n, item);
}

/* The arguments of a case between its inputs and the group's name. */
static size_t make_args(cfx_scope *s, const rank *r, const char *name,
                        const char *word, cfx_value *arg)
{
    int give[MAX_RANKS], take[MAX_RANKS];
    bool uneven = !strcmp(word, "uneven");
    if (strstr(name, "all_to_all")) {
        for (int k = 0; k < r->size; k++) {
            give[k] = uneven ? (r->at + 2 * k) % 3 : 2;
            take[k] = uneven ? (k + 2 * r->at) % 3 : 2;
        }
        arg[0] = numbers(s, r->size, take);
        arg[1] = numbers(s, r->size, give);
        return 2;
    }
    arg[0] = strstr(name, "gather")      ? cfx_int(r->size)
             : strstr(name, "broadcast") ? cfx_int(atoi(word))
                                         : cfx_str(s, word);
    arg[1] = cfx_int(r->size);
    return strstr(name, "scatter") ? 2 : 1;
}

static int rows_of(const rank *r, const char *word)
{
    int rows = 0;
    for (int k = 0; k < r->size; k++)
        rows += (r->at + 2 * k) % 3;
    return strcmp(word, "uneven") ? -1 : rows;
}

/* out= of the first input's shape, times or divided by the number of ranks. */
static cfx_value make_out(cfx_scope *s, const rank *r, const char *name,
                          const cfx_tensor *x)
{
    int64_t shape[4];
    cfx_tensor *t;
    for (int i = 0; i < x->rank; i++)
        shape[i] = cfx_tensor_size(x, i);
    shape[0] = strstr(name, "gather") ? shape[0] * r->size
                                      : shape[0] / r->size;
    assert_each(!cfx_tensor_new(&t, s->ctx, (cfx_dtype)x->dtype, x->rank,
                                shape, NULL));
    return cfx_scope_take(s, cfx_value_of_tensor(t));
}

/* "NAME TYPE[EXTENTS]... [ARGUMENT]". */
static void run_case(rank *r)
{
    char copy[256], target[256], *save, *name, *input[2];
    const char *word = "";
    cfx_value arg[6], x[2], out[2];
    cfx_scope s;
    size_t ninputs = 0, n = 1;
    cfx_error err = {0};
    strcpy(copy, r->line);
    name = strtok_r(copy, " ", &save);
    for (char *w; (w = strtok_r(NULL, " ", &save));)
        if (strchr(w, '['))
            input[ninputs++] = w;
        else
            word = w;
    cfx_scope_init(&s, &cfx_eager_class, r->ctx, NULL);
    for (size_t i = 0; i < ninputs; i++)
        x[i] = make_input(&s, input[i], r->at, rows_of(r, word));
    arg[0] = strstr(name, "coalesced") ? list_of(&s, ninputs, x) : x[0];
    n += make_args(&s, r, name, word, arg + 1);
    arg[n++] = cfx_str(&s, "0");
    snprintf(target, sizeof(target), "torch.ops._c10d_functional.%s.default",
             name);
    bool to_out = strstr(name, "_out") != NULL;
    if (to_out) {
        out[0] = cfx_str(&s, "out");
        out[1] = make_out(&s, r, name, x[0].u.tensor);
    }
    cfx_value y = cfx_call_function(&s, target,
                                    (cfx_args){arg, n, out, to_out ? 1 : 0});
    r->status = cfx_scope_status(&s, &err);
    r->text[0] = '\0';
    if (r->status)
        snprintf(r->text, sizeof(r->text), "%.4000s", err.text);
    else if (y.kind == CFX_TENSOR)
        print_tensor(r->text, y.u.tensor);
    else
        for (size_t i = 0; i < y.u.seq->len; i++) {
            strcat(r->text, i ? " " : "");
            print_tensor(r->text, y.u.seq->item[i].u.tensor);
        }
    cfx_scope_release(&s);
}

/* ---- Tests ---- */

static void expect(rank *r, const char *of, const char *text)
{
    for (int i = 0; i < r->size; i++)
        if (*of == '*' || atoi(of) == i)
            ck_assert_str_eq(r[i].text, text);
}

TEST_EACH(collectives_give_what_gloo_gives, 3)
{
    const int n = 2 + _i;
    int cases = 0;
    rank r[MAX_RANKS];
    char *text = golden_read("collectives.txt"), *save;
    bool mine = false;
    open_world(r, n);
    for (char *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        if (line[0] == '#')
            continue;
        if (line[1] == ':') {
            if (mine)
                expect(r, line, line + 3);
            continue;
        }
        mine = atoi(line) == n;
        for (int i = 0; mine && i < n; i++)
            r[i].line = line + 2;
        if (mine)
            run_ranks(r, n, run_case);
        cases += mine;
    }
    ck_assert_int_ge(cases, 80);
    close_world(r, n);
    free(text);
}

static void run_in_pairs(rank *r)
{
    const int pairs[][2] = {{0, 1}, {3, 2}};
    char name[2][8] = {"low", "high"};
    cfx_error err = {0};
    const int mine = r->at / 2;
    for (int i = 0; i < 2 && !r->status; i++)
        r->status = cfx_context_add_group(r->ctx, name[i], 2, pairs[i], &err);
    cfx_group g;
    int32_t value = 1 << r->at, both[2] = {0};
    if (!r->status)
        r->status = cfx_context_find_group(r->ctx, name[mine], &g, &err);
    if (!r->status)
        r->status = cfx_comm_all_gather(r->ctx, &g, &value, both,
                                        sizeof(value), &err);
    snprintf(r->text, sizeof(r->text), "%s%d %d", err.text, both[0], both[1]);
}

TEST_CASE(groups_have_their_own_order_of_ranks)
{
    rank r[MAX_RANKS];
    open_world(r, 4);
    run_ranks(r, 4, run_in_pairs);
    expect(r, "0", "1 2");
    expect(r, "1", "1 2");
    expect(r, "2", "8 4");
    expect(r, "3", "8 4");
    close_world(r, 4);
}

static void run_or_fail(rank *r)
{
    cfx_group g;
    cfx_error err = {0};
    char byte = 0, all[MAX_RANKS];
    r->status = cfx_context_find_group(r->ctx, "0", &g, &err);
    if (r->at == 1)
        r->status = cfx_fail(&err, CFX_EUSER, "planted");
    if (!r->status)
        r->status = cfx_comm_all_gather(r->ctx, &g, &byte, all, 1, &err);
    strcpy(r->text, err.text);
}

TEST_CASE(a_rank_that_fails_ends_the_others)
{
    rank r[MAX_RANKS];
    open_world(r, 3);
    run_ranks(r, 3, run_or_fail);
    expect(r, "0", "rank 1 has failed");
    expect(r, "1", "planted");
    expect(r, "2", "rank 1 has failed");
    close_world(r, 3);
}

static void expect_group_error(const char *name, int n, const int *ranks,
                               const char *text)
{
    cfx_error err = {0};
    ck_assert_int_ne(cfx_context_add_group(ctx, name, n, ranks, &err), CFX_OK);
    ck_assert_str_eq(err.text, text);
}

TEST_CASE(groups_are_checked)
{
    const int ranks[] = {0, 0}, beyond[] = {1};
    cfx_group g;
    cfx_error err = {0};
    expect_group_error("0", 1, ranks, "group '0' is given twice");
    expect_group_error("a", 2, ranks, "group 'a' has rank 0 twice");
    expect_group_error("a", 1, beyond,
                       "group 'a' has rank 1, the world has 1 ranks");
    expect_group_error("a", 0, ranks, "group 'a' has no ranks");
    ck_assert_int_eq(cfx_context_find_group(ctx, "7", &g, &err), CFX_ENAME);
    ck_assert_int_eq(cfx_context_add_group(ctx, "7", 1, ranks, NULL), CFX_OK);
    ck_assert_int_eq(cfx_context_find_group(ctx, "7", &g, NULL), CFX_OK);
    ck_assert_int_eq(g.rank, 0);
}

TEST_SUITE(collective, .setup = setup, .teardown = teardown, .timeout = 60)
