#define _POSIX_C_SOURCE 200809L
/*
 * shape_walk_test -- all operators and module types, on arguments by chance:
 * `infer` promises what `run` gives, and with symbols for extents it promises
 * what it does for the numbers. Arguments: the golden files, whose cases are
 * what chance begins with.
 *
 *   -w       degenerate arguments instead, of which only is asked that each
 *            ends well: for builds with sanitizers
 *   -x       a value of each kind in the place of each argument instead, of
 *            which the same is asked
 *   -k NAME  only the operator or module type of that name ("add.Tensor")
 *   -p       print each case and what it gives, for oracle/walk.py
 *   -v       print each case to stderr before it is run
 *   -c CASE  only this case
 *
 * $CFX_WALK times as many cases are tried, $CFX_WALK_SEED begins elsewhere.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "tests/cases/mutant.h"
#include "tests/cases/program.h"
#include "tests/cases/walk.h"

enum {
    CASES = 200,
    ACCEPTED = 100,
    SUBJECTS = 2048,
    SEEDS = 400,
    POOL = 64,
    TABLE = 1 << 16,
    SHOWN = 12,
    TRIES = 800
};

/* An operator (one overload) or a module type. */
struct subject {
    const cfx_op *op;
    const cfx_module_type *type;
    char name[64];
    char *seed[SEEDS];
    int seeds, pooled;
    int cases, accepted, failed, data, unknown, counted;
};

struct walk {
    struct subject *of;
    int n;
    cfx_context *ctx;
    bool wild, kinds, print, tell;
    int times;
    uint64_t start;       /* from CFX_WALK_SEED */
    uint64_t state;       /* of the random numbers of the subject at hand */
    uint64_t seen[TABLE]; /* hashes of the texts of the subject at hand */
    int64_t cases, accepted, failed, by_rank[8], zero, one, strided;
};

/* Why a subject has fewer cases, or none; it may not have enough. */
static const struct {
    const char *name, *why;
} few[] = {
    {"number_int.str", "a string"},
    {"number_float.str", "a string"},
    {"cond", "takes graphs"},
    {"while_loop", "takes graphs"},
    {"map_impl", "takes graphs"},
    {"scan", "takes graphs"},
    {"associative_scan", "takes graphs"},
    {"wrap_with_set_grad_enabled", "takes graphs"},
    {"wrap_with_autocast", "takes graphs"},
    {"invoke_subgraph", "takes graphs"},
    {"py_assert_none", "takes None only"},
    {"py_log_usage", "a string"},
    {"string_concat", "lists of str of two shapes"},
    {"_enter_autocast", "a string"},
    {"_exit_autocast", "takes what _enter_autocast gave"},
    {"_set_grad_enabled", "a bool"},
    {"_exit_inference_mode", "takes what _enter_inference_mode gave"},
    {"_record_function_enter", "a string"},
    {"_record_function_exit", "takes what _record_function_enter_new gave"},
    {"_add_batch_dim", "within vmap only: vmap_test"},
    {"_remove_batch_dim", "within vmap only: vmap_test"},
    {"_vmap_increment_nesting", "a mark"},
    {"_vmap_decrement_nesting", "a mark"},
    {"lazy_load_decompositions", "a mark"},
    {"_backend_from_string", "a string"},
    {"_sdpa_kernel", "takes what _backend_from_string gave"},
    {"Module", "is not called"},
    {"ModuleList", "is not called"},
    {"ModuleDict", "is not called"},
    {"GuardsFn", "comes from an export only"},
    {"TransformerEncoder", "comes from the text of a model only"},
    {"ParametrizationList", "comes from the text of a model only"},
    {"_WeightNorm", "comes from the text of a model only"},
};

/* Random cases begin with the golden ones and with these, which have what the
 * golden ones lack. */
static const char *const seeds[] = {
    ("torchvision.ops.stochastic_depth.stochastic_depth(f32[2,3], 0.0, "
     "'batch', False)"),
    "torchvision.ops.stochastic_depth(f32[2,3,4], 0.0, 'row', False)",
    "operator.le((1, 2), (1, 3))",
    "operator.le([3], [2, 7])",
    "torch._assert(1, 'one')",
    "torch._assert((1, 2), 'two')",
    "Tensor.item(f64[1,1,1,1]@(1,3,3,1))",
    "Tensor.item(i32[1,1,1])",
    "Tensor.__int__(u8[1]@(0))",
    "Tensor.__float__(bf16[1,1]@(2,2))",
    "torch._local_scalar_dense(bool[1,1,1])",
    "torch.ops.aten._local_scalar_dense.default(f16[])",
    "torch.eye(3)",
    "torch.eye(4, 2)",
};

/* ---- Subjects ---- */

static struct subject *add_subject(struct walk *w, const char *schema)
{
    if (w->n == SUBJECTS)
        abort();
    struct subject *s = &w->of[w->n++];
    snprintf(s->name, sizeof(s->name), "%.*s", (int)strcspn(schema, "("),
             schema);
    return s;
}

static void find_subjects(struct walk *w)
{
    const cfx_op *op;
    const cfx_module_type *type;
    for (size_t i = 0; (op = cfx_op_at(w->ctx, i)); i++)
        for (; op; op = op->next)
            add_subject(w, op->schema)->op = op;
    for (size_t i = 0; (type = cfx_module_type_at(w->ctx, i)); i++)
        add_subject(w, type->schema)->type = type;
}

static struct subject *subject_of(struct walk *w, const walk_case *c)
{
    for (int i = 0; i < w->n; i++)
        if (c->op ? w->of[i].op == c->op : c->type && w->of[i].type == c->type)
            return &w->of[i];
    return NULL;
}

static void add_seed(struct subject *s, const char *text)
{
    if (s->seeds < SEEDS)
        s->seed[s->seeds++] = strdup(text);
}

/* A case of a golden file begins the walk of what it is bound to. */
static void learn(void *user, const char *file, int number, const char *line)
{
    struct walk *w = user;
    char text[MUTANT_TEXT];
    size_t len = strcspn(line, "\t");
    walk_case c;
    mutant m;
    (void)file;
    (void)number;
    if (!strcmp(line + len, "\terror") || !mutant_read(&m, line, len) ||
        !mutant_print(&m, text, sizeof(text)))
        return;
    walk_bind(&c, w->ctx, text);
    struct subject *s = subject_of(w, &c);
    if (s)
        add_seed(s, text);
}

/* ---- The walk of one ---- */

/* Is it new? The table is never full. */
static bool is_new(struct walk *w, const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (const char *p = text; *p; p++)
        h = (h ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    h |= 1;
    for (size_t i = h % TABLE;; i = (i + 1) % TABLE) {
        if (w->seen[i] == h)
            return false;
        if (!w->seen[i]) {
            w->seen[i] = h;
            return true;
        }
    }
}

static bool next_text(struct walk *w, struct subject *s, int try, char *text)
{
    mutant m;
    int all = s->seeds + s->pooled;
    bool gentle = s->accepted * 2 < s->cases || mutant_chance(&w->state, 3);
    int from = try < s->seeds ?
    try:
        (int)mutant_below(&w->state,
                          mutant_chance(&w->state, 2) ? s->seeds : all);
    if (!mutant_read(&m, s->seed[from], strlen(s->seed[from])))
        return false;
    if (try >= s->seeds || w->wild)
        do {
            if (w->wild && !mutant_chance(&w->state, 3))
                mutant_spoil(&m, &w->state);
            else if (gentle)
                mutant_change_shapes(&m, &w->state);
            else
                mutant_change(&m, &w->state);
        } while (mutant_chance(&w->state, 2));
    return mutant_places(&m) <= 20000 && mutant_print(&m, text, MUTANT_TEXT) &&
           is_new(w, text);
}

static void count(struct walk *w, struct subject *s, const walk_case *c,
                  const char *text)
{
    bool accepted = c->accepted && !c->data;
    s->cases++;
    s->accepted += accepted;
    s->data += c->data;
    s->unknown += c->unknown;
    s->counted += c->counted;
    if (w->print)
        printf("%s\t%s\n", text, *c->got ? c->got : "error");
    if (!c->ok && s->failed++ < SHOWN)
        printf("%s: %s\n    %s\n", s->name, text, c->why);
    if (!accepted)
        return;
    w->by_rank[c->rank < 7 ? c->rank : 7]++;
    w->zero += c->zero;
    w->one += c->one;
    w->strided += c->strided;
    if (s->seeds + s->pooled < SEEDS && s->pooled < POOL &&
        mutant_chance(&w->state, 4))
        s->seed[s->seeds + s->pooled++] = strdup(text);
}

static void walk_subject(struct walk *w, struct subject *s)
{
    char text[MUTANT_TEXT];
    walk_case c;
    cfx_options opts = {
        .size = sizeof(opts), .threads = 1, .max_memory = (size_t)64 << 20};
    memset(w->seen, 0, sizeof(w->seen));
    /* By its name, so that another operator in the list changes no case. */
    w->state = w->start + cfx_hash(s->name, strlen(s->name));
    if (cfx_context_new(&w->ctx, &opts, NULL))
        abort();
    int cases = (w->wild ? CASES / 2 : CASES) * w->times;
    int accepted = ACCEPTED * w->times;
    for (int try = 0;
         s->seeds && try < TRIES * cases &&
         (s->cases < cases || (s->accepted < accepted && !w->wild));
         try++) {
        if (!next_text(w, s, try, text))
            continue;
        if (w->tell)
            fprintf(stderr, "%s\n", text);
        if (w->wild)
            walk_try(&c, w->ctx, text);
        else
            walk_check(&c, w->ctx, text);
        struct subject *of = subject_of(w, &c);
        count(w, !of || w->wild ? s : of, &c, text);
    }
    cfx_context_free(w->ctx);
    w->ctx = NULL;
}

/* ---- Each kind of value in each place ---- */

static void try_kind(struct walk *w, struct subject *s, const mutant *m)
{
    char text[MUTANT_TEXT];
    walk_case c;
    if (!mutant_print(m, text, sizeof(text)) || !is_new(w, text))
        return;
    if (w->tell)
        fprintf(stderr, "%s\n", text);
    walk_try_kind(&c, w->ctx, text);
    count(w, s, &c, text);
}

/* Put each kind of value in each place of a seed, of which the last is an
 * argument of this name that the seed lacks, unless it is NULL. */
static void try_kinds(struct walk *w, struct subject *s, const char *seed,
                      const char *name)
{
    mutant m, whole;
    int places = 0;
    if (!mutant_read(&whole, seed, strlen(seed)) ||
        (name && !mutant_add_keyword(&whole, name)))
        return;
    for (m = whole; mutant_replace(&m, places, 0); m = whole)
        places++;
    for (int place = name ? places - 1 : 0; place < places; place++) {
        m = whole;
        for (int kind = 0; mutant_replace(&m, place, kind); kind++)
            try_kind(w, s, &m);
    }
}

static void walk_kinds(struct walk *w, struct subject *s)
{
    cfx_options opts = {
        .size = sizeof(opts), .threads = 1, .max_memory = (size_t)64 << 20};
    memset(w->seen, 0, sizeof(w->seen));
    if (cfx_context_new(&w->ctx, &opts, NULL))
        abort();
    const cfx_schema *schema = s->op ? cfx_op_schema(w->ctx, s->op) : NULL;
    for (int i = 0; i < s->seeds && i < w->times; i++) {
        try_kinds(w, s, s->seed[i], NULL);
        for (int k = 0; schema && k < schema->nparams; k++)
            try_kinds(w, s, s->seed[i], schema->params[k].name);
    }
    cfx_context_free(w->ctx);
    w->ctx = NULL;
}

/* ---- What it comes to ---- */

static const char *excuse(const struct subject *s)
{
    for (size_t i = 0; i < sizeof(few) / sizeof(*few); i++)
        if (!strcmp(few[i].name, s->name))
            return few[i].why;
    return NULL;
}

static void judge(struct walk *w, struct subject *s)
{
    bool enough = s->cases >= CASES * w->times &&
                  s->accepted >= ACCEPTED * w->times;
    const char *why = excuse(s);
    /* Some have no integer that could be degenerate. */
    if (w->wild || w->kinds)
        enough = s->cases > 0 && !why;
    w->cases += s->cases;
    w->accepted += s->accepted;
    w->failed += s->failed;
    if (s->failed > SHOWN)
        printf("%s: %d more\n", s->name, s->failed - SHOWN);
    if (!enough != (why != NULL) && !((w->wild || w->kinds) && why)) {
        printf("%s: %d cases, %d accepted, %s\n", s->name, s->cases,
               s->accepted, why ? "and is excused" : "which is not enough");
        w->failed++;
    }
    if (getenv("CFX_WALK_LIST"))
        printf("%-40s %5d %5d  data %d unknown %d counted %d\n", s->name,
               s->cases, s->accepted, s->data, s->unknown, s->counted);
}

static int one_case(struct walk *w, const char *text)
{
    walk_case c;
    if (w->kinds)
        walk_try_kind(&c, w->ctx, text);
    else if (w->wild)
        walk_try(&c, w->ctx, text);
    else
        walk_check(&c, w->ctx, text);
    printf("%s\n%s\n", c.accepted ? "accepted" : "refused", c.why);
    return !c.ok;
}

TEST_PROGRAM(shape_walk)
{
    static struct subject subject[SUBJECTS];
    static struct walk w = {.of = subject};
    const char *only = NULL, *text = NULL, *times = getenv("CFX_WALK"),
               *start = getenv("CFX_WALK_SEED");
    int ops = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    w.times = times ? atoi(times) : 1;
    w.start = start ? strtoull(start, NULL, 10) : 1;
    if (cfx_context_new(&w.ctx, NULL, NULL))
        return 1;
    find_subjects(&w);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-w"))
            w.wild = true;
        else if (!strcmp(argv[i], "-x"))
            w.kinds = true;
        else if (!strcmp(argv[i], "-p"))
            w.print = true;
        else if (!strcmp(argv[i], "-v"))
            w.tell = true;
        else if (!strcmp(argv[i], "-k") && i + 1 < argc)
            only = argv[++i];
        else if (!strcmp(argv[i], "-c") && i + 1 < argc)
            text = argv[++i];
        else if (!case_lines(argv[i], NULL, learn, &w))
            return 1;
    }
    for (size_t i = 0; i < sizeof(seeds) / sizeof(*seeds); i++)
        learn(&w, NULL, 0, seeds[i]);
    if (text)
        return one_case(&w, text);
    cfx_context_free(w.ctx);
    for (int i = 0; i < w.n; i++)
        if (!only || !strcmp(only, w.of[i].name))
            (w.kinds ? walk_kinds : walk_subject)(&w, &w.of[i]);
    for (int i = 0; i < w.n; i++) {
        if (!only || !strcmp(only, w.of[i].name))
            judge(&w, &w.of[i]);
        ops += w.of[i].op != NULL;
        while (w.of[i].seeds + w.of[i].pooled > 0)
            free(w.of[i].seed[w.of[i].pooled ? w.of[i].seeds + --w.of[i].pooled
                                             : --w.of[i].seeds]);
    }
    printf("%d operators, %d module types: %lld cases, %lld accepted\n", ops,
           w.n - ops, (long long)w.cases, (long long)w.accepted);
    if (!w.wild && !w.kinds)
        printf("of ranks 0 to 5: %lld %lld %lld %lld %lld %lld; with extents "
               "of 0: %lld, of 1: %lld; not row-major: %lld\n",
               (long long)w.by_rank[0], (long long)w.by_rank[1],
               (long long)w.by_rank[2], (long long)w.by_rank[3],
               (long long)w.by_rank[4], (long long)w.by_rank[5],
               (long long)w.zero, (long long)w.one, (long long)w.strided);
    printf("%lld passed, %lld failed\n", (long long)(w.cases - w.failed),
           (long long)w.failed);
    return w.failed || !w.cases;
}
