/*
 * costs_zoo_test -- multiply-adds of whole models, on one image of 224 by 224,
 * against those that torch.utils.flop_counter has (golden/costs.tsv, written by
 * oracle/costs.py).
 *
 *     costs_zoo_test ZOO GOLDEN         all models of costs.tsv
 *     costs_zoo_test ZOO GOLDEN NAME... print "NAME<tab>MACS" of these
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/interp.h>

#include "tests/cases/program.h"
#include "tests/zoo/zoo.h"

struct counting_scope {
    cfx_scope base;
    int64_t macs;
};

static cfx_status count_op(cfx_scope *s, cfx_call *call, cfx_value *out)
{
    struct counting_scope *c = (struct counting_scope *)s;
    cfx_cost cost;
    cfx_status rc = cfx_call_cost(call, &cost, out);

    if (!rc)
        c->macs += cfx_dim_value(cost.macs);
    return rc;
}

static const cfx_scope_class counting_class = {
    .size = sizeof(cfx_scope_class),
    .name = "counting",
    .super = &cfx_meta_class,
    .call_op = count_op,
};

static cfx_status walk(cfx_module *gm, int64_t *macs, cfx_error *err)
{
    const cfx_dim shape[] = {cfx_dim_int(1), cfx_dim_int(3), cfx_dim_int(224),
                             cfx_dim_int(224)};
    cfx_context *ctx = cfx_module_context(gm);
    struct counting_scope s = {.macs = 0};
    const cfx_interp_options o = {.size = sizeof(o), .scope = &s.base};
    cfx_value y = CFX_NOTHING;
    cfx_interp it = {0};
    cfx_tensor *x;
    cfx_status rc = cfx_tensor_meta(&x, ctx, CFX_F32, 4, shape, NULL, err);

    if (rc)
        return rc;
    cfx_scope_init(&s.base, &counting_class, ctx, NULL);
    rc = cfx_interp_init_with(&it, &cfx_interp_base, gm, &o, err);
    if (!rc)
        rc = cfx_interp_run(&it, (cfx_value[]){cfx_value_of_tensor(x)}, 1, &y,
                            err);
    *macs = s.macs;
    cfx_value_unref(y);
    cfx_interp_release(&it);
    cfx_scope_release(&s.base);
    cfx_tensor_unref(x);
    return rc;
}

/* The multiply-adds of a model; -1, with a line on stderr, on failure. */
static int64_t count(const char *zoo, const char *golden, const char *name)
{
    char digests[ZOO_PATH];
    cfx_error err = {0};
    cfx_context *ctx;
    zoo_model m = {.gm = NULL};
    int64_t macs = -1;

    snprintf(digests, sizeof(digests), "%s/zoo", golden);
    if (cfx_context_new(&ctx, NULL, &err))
        return -1;
    cfx_status rc = zoo_open(&m, ctx, zoo, digests, name, &err);
    if (!rc)
        rc = walk(m.gm, &macs, &err);
    if (rc)
        fprintf(stderr, "%s: %s\n", name, err.text);
    zoo_close(&m);
    cfx_context_free(ctx);
    return rc ? -1 : macs;
}

static int check_all(const char *zoo, const char *golden)
{
    char path[ZOO_PATH], name[64];
    int64_t want;
    int passed = 0, failed = 0;

    snprintf(path, sizeof(path), "%s/costs.tsv", golden);
    FILE *f = fopen(path, "r");
    while (f && fscanf(f, "%63s %" SCNd64, name, &want) == 2) {
        int64_t have = count(zoo, golden, name);
        passed += have == want;
        failed += have != want;
        if (have != want)
            printf("not ok: %s has %" PRId64 " multiply-adds, not %" PRId64
                   "\n",
                   name, have, want);
    }
    if (f)
        fclose(f);
    printf("%d passed, %d failed\n", passed, failed);
    return failed || passed < 42;
}

TEST_PROGRAM(costs_zoo)
{
    if (argc < 3) {
        fprintf(stderr, "usage: costs_zoo ZOO GOLDEN [NAME]...\n");
        return 2;
    }
    if (argc == 3)
        return check_all(argv[1], argv[2]);
    for (int i = 3; i < argc; i++)
        printf("%s\t%" PRId64 "\n", argv[i], count(argv[1], argv[2], argv[i]));
    return 0;
}
