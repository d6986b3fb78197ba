/*
 * expect -- compare the results of a model with a reference.
 */
#include "expect.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "output.h"

/* Parse a number of at least 0. */
static bool read_number(const char *text, double *out)
{
    char *end;

    if (!text)
        return true;
    *out = strtod(text, &end);
    return end != text && !*end && *out >= 0;
}

int cli_read_tolerance(const cli *c, const cli_tolerance_options *o,
                       cfx_tolerance *t)
{
    t->given = o->rtol || o->atol || o->rmax;
    if (!read_number(o->rtol, &t->rtol) || !read_number(o->atol, &t->atol) ||
        !read_number(o->rmax, &t->rmax))
        return cli_usage(
            c, "--rtol, --atol and --rmax take numbers of at least 0");
    return CLI_OK;
}

struct expectation {
    FILE *to;
    cfx_context *ctx;
    const char *path;
    const cfx_tolerance *tolerance;
    bool folder;
    size_t nparts;
};

static cfx_status count_part(void *user, const char *name, cfx_value v,
                             cfx_error *err)
{
    struct expectation *e = user;

    (void)name;
    (void)v;
    (void)err;
    e->nparts++;
    return CFX_OK;
}

/* The tensor of a file with a part's name, or its only one. */
struct pick {
    const char *name;
    cfx_tensor *found, *last;
    size_t n;
};

static cfx_status pick_tensor(void *user, const cfx_tensors *tensors,
                              const char *path, cfx_error *err)
{
    struct pick *p = user;

    (void)path;
    (void)err;
    for (size_t i = 0; i < tensors->n; i++, p->n++) {
        cfx_tensor *t = tensors->item[i].tensor;
        if (!p->found && !strcmp(tensors->item[i].name, p->name))
            p->found = cfx_tensor_ref(t);
        cfx_tensor_unref(p->last);
        p->last = cfx_tensor_ref(t);
    }
    return CFX_OK;
}

static cfx_status find_in_file(cfx_tensor **out, const struct expectation *e,
                               const char *name, cfx_error *err)
{
    struct pick p = {.name = name};
    cfx_status st = cfx_tensors_visit(e->ctx, e->path, true, pick_tensor, &p,
                                      err);

    if (!st && !p.found && e->nparts == 1 && p.n == 1)
        p.found = cfx_tensor_ref(p.last);
    cfx_tensor_unref(p.last);
    if (!st && !p.found && cfx_tensor_names_file(e->path))
        st = cfx_fail(err, CFX_ENAME,
                      "%s: one tensor for %zu results: use an npz or a folder",
                      e->path, e->nparts);
    else if (!st && !p.found)
        st = cfx_fail(err, CFX_ENAME, "%s: has no tensor '%s' to compare with",
                      e->path, name);
    if (st)
        cfx_tensor_unref(p.found);
    else
        *out = p.found;
    return st;
}

/* The expected tensor of a part, a new reference. */
static cfx_status find_tensor(cfx_tensor **out, const struct expectation *e,
                              const char *name, cfx_error *err)
{
    char path[4096];

    if (!e->folder)
        return e->nparts == 1 && cfx_tensor_names_file(e->path)
                   ? cfx_tensor_read(out, e->ctx, e->path, true, err)
                   : find_in_file(out, e, name, err);
    int n = snprintf(path, sizeof(path), "%s/%s.npy", e->path, name);
    return n < 0 || (size_t)n >= sizeof(path)
               ? cfx_fail(err, CFX_EINVAL, "%s: the path is too long", e->path)
               : cfx_npy_read(out, e->ctx, path, err);
}

static cfx_status compare_part(void *user, const char *name, cfx_value v,
                               cfx_error *err)
{
    const struct expectation *e = user;
    cfx_tensor *want = NULL, *have = NULL;
    cfx_difference d = {0};
    cfx_status st = cli_part_tensor(&have, e->ctx, v, e->path, err);

    if (!st)
        st = find_tensor(&want, e, name, err);
    if (!st)
        st = cfx_value_compare(&d, cfx_value_of_tensor(want),
                               cfx_value_of_tensor(have), e->tolerance, err);
    if (!st && d.differs)
        st = cfx_fail(err, CFX_ENUMERIC, "%s differs from %s: %s", name,
                      e->path, d.text);
    else if (!st && e->to)
        fprintf(
            e->to,
            "%s is as expected: largest difference %.3g of %lld elements\n",
            name, d.max_abs, (long long)d.elements);
    cfx_tensor_unref(have);
    cfx_tensor_unref(want);
    return st;
}

cfx_status cli_expect(FILE *to, cfx_context *ctx, const cli_result *result,
                      const char *path, const cfx_tolerance *t, cfx_error *err)
{
    struct stat info;
    struct expectation e = {
        .to = to,
        .ctx = ctx,
        .path = path,
        .tolerance = t,
        .folder = !stat(path, &info) && S_ISDIR(info.st_mode),
    };
    cfx_status st = cli_visit_result(result, count_part, &e, err);

    return st ? st : cli_visit_result(result, compare_part, &e, err);
}
