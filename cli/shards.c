/*
 * shards -- run a model on all rows of its inputs, batch by batch.
 *
 * All batches have the same shape, whatever the number of shards: kernels may round
 * otherwise for another extent. The last batch therefore begins early where the rows
 * do not fill it, and its first rows, which another batch has, are not written.
 *
 * Processes meet in the directory of the results only. A file for each shard tells
 * what was done, with a sum of everything that results depend on.
 */
#include "shards.h"

#include <cfx/version.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"

/* Seconds after which the file of the shard is written anew. */
enum { EVERY = 5 };

#define STATE                                                                 \
    "cfx-shard-1\nrun %016" PRIx64 "\nrows %016" PRIx64 "\ndone %" PRId64 "\n"
#define READ_STATE                                                            \
    "cfx-shard-1 run %16" SCNx64 " rows %16" SCNx64 " done %" SCNd64

bool cli_shard_parse(cli_shard *out, const char *text)
{
    int i, n, end = -1;
    if (sscanf(text, "%9d/%9d%n", &i, &n, &end) < 2 || end < 0 || text[end] ||
        i < 1 || i > n)
        return false;
    *out = (cli_shard){i - 1, n};
    return true;
}

/* ---- Sums ---- */

static uint64_t sum_word(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return sum ^ sum >> 32;
}

static uint64_t sum_bytes(uint64_t sum, const void *data, size_t n)
{
    const unsigned char *p = data;
    uint64_t word = 0;
    for (size_t left = n; left; p += 8) {
        size_t some = left < 8 ? left : 8;
        word = 0;
        memcpy(&word, p, some);
        sum = sum_word(sum, word);
        left -= some;
    }
    return sum_word(sum, n);
}

static cfx_status sum_tensor(uint64_t *sum, const cfx_tensor *t,
                             cfx_error *err)
{
    cfx_tensor *flat;
    if (cfx_tensor_is_meta(t))
        return CFX_OK;
    cfx_status st = cfx_tensor_contiguous(&flat, t, err);
    if (st)
        return st;
    *sum = sum_word(*sum, (uint64_t)t->dtype << 8 | (uint64_t)t->rank);
    for (int i = 0; i < t->rank; i++)
        *sum = sum_word(*sum, (uint64_t)cfx_tensor_size(t, i));
    *sum = sum_bytes(*sum, flat->data,
                     (size_t)cfx_tensor_numel(flat) *
                         cfx_dtype_size((cfx_dtype)t->dtype));
    cfx_tensor_unref(flat);
    return CFX_OK;
}

/* Add the parameters and buffers of a model, or the buffers only. */
static cfx_status sum_state(uint64_t *sum, const cfx_module *gm, bool buffers,
                            cfx_error *err)
{
    cfx_status st = CFX_OK;
    for (const cfx_module *m = gm; m && !st; m = cfx_module_next(m, gm))
        for (size_t i = 0; i < cfx_module_nstate(m) && !st; i++) {
            const cfx_state *s = cfx_module_state_at(m, i);
            if (s->tensor && (s->is_buffer || !buffers))
                st = sum_tensor(sum, s->tensor, err);
        }
    return st;
}

static cfx_status sum_text(void *user, const char *text, size_t len)
{
    uint64_t *sum = user;
    *sum = sum_bytes(*sum, text, len);
    return CFX_OK;
}

cfx_status cli_model_sum(uint64_t *out, const cfx_module *gm, const char *text,
                         cfx_error *err)
{
    const cfx_sink to = {sum_text, out};
    *out = 0;
    sum_text(out, text, strlen(text));
    sum_text(out, cfx_version(), strlen(cfx_version()));
    cfx_status st = cfx_print_model(to, gm, false, err);
    return st ? st : sum_state(out, gm, false, err);
}

/* ---- Batches ---- */

typedef struct shard {
    const cli_rows_run *r;
    cli_row_files files;
    int64_t batches;    /* of all shards */
    int64_t begin, end; /* those of this one */
    int64_t done;       /* of these */
    uint64_t run;       /* the sum of what all shards have in common */
    uint64_t rows;      /* the sum of this shard's rows */
    time_t written;     /* when the file of the shard was */
} shard;

/* Make batch i the inputs; all have r->rows->batch rows. */
static cfx_status take(const shard *s, int64_t i, cli_row_range *range,
                       cfx_error *err)
{
    cli_batches *b = s->r->rows;
    int64_t from = i * b->batch;
    int64_t early = from + b->batch > b->rows ? from + b->batch - b->rows : 0;
    *range = (cli_row_range){b->batch, early, from};
    return cli_batches_take(b, from - early, b->batch, err);
}

/* What each shard computes again to find that another one has its files. */
static cfx_status sum_rows(shard *s, cfx_error *err)
{
    cfx_status st = CFX_OK;
    cli_row_range range;
    for (int64_t i = s->begin; i < s->end && !st; i++) {
        st = take(s, i, &range, err);
        for (size_t k = 0; k < s->r->rows->one.n && !st; k++) {
            cfx_value v = s->r->rows->one.value[k];
            if (v.kind == CFX_TENSOR)
                st = sum_tensor(&s->rows, v.u.tensor, err);
        }
    }
    return st;
}

static cfx_status shard_init(shard *s, const cli_rows_run *r, cfx_error *err)
{
    const cli_batches *b = r->rows;
    *s = (shard){.r = r, .run = r->model, .written = time(NULL)};
    s->files = (cli_row_files){.dir = r->dir, .ctx = r->ctx, .rows = b->rows};
    if (b->rows < 1)
        return cfx_fail(
            err, CFX_EINVAL,
            "--batch needs an input with rows: a tensor of rank 1 at least");
    s->batches = (b->rows - 1) / b->batch + 1;
    s->begin = s->batches * r->shard.index / r->shard.count;
    s->end = s->batches * (r->shard.index + 1) / r->shard.count;
    s->run = sum_word(s->run, (uint64_t)b->rows);
    s->run = sum_word(s->run, (uint64_t)b->batch);
    s->run = sum_word(s->run, (uint64_t)r->shard.count);
    return sum_rows(s, err);
}

/* ---- The files of shards ---- */

static cfx_status state_path(char path[4096], const shard *s, int i,
                             cfx_error *err)
{
    int n = snprintf(path, 4096, "%s/shard-%d-of-%d", s->r->dir, i + 1,
                     s->r->shard.count);
    return n > 0 && n < 4096 ? CFX_OK
                             : cfx_fail(err, CFX_EINVAL,
                                        "%s: the path is too long", s->r->dir);
}

static cfx_status write_state(shard *s, cfx_error *err)
{
    char path[4096];
    cfx_outfile file = {0};
    cfx_status st = state_path(path, s, s->r->shard.index, err);
    if (!st)
        st = cli_row_files_sync(&s->files, err);
    if (!st)
        st = cfx_outfile_open(&file, s->r->ctx, path, err);
    if (st)
        return st;
    fprintf(file.stream, STATE, s->run, s->rows, s->done);
    s->written = time(NULL);
    return cfx_outfile_commit(&file, err);
}

/* What the file of a shard tells; `done` is -1 if there is none. */
typedef struct state {
    uint64_t run, rows;
    int64_t done;
} state;

static cfx_status read_state(state *out, const char *path, cfx_error *err)
{
    FILE *f = fopen(path, "r");
    *out = (state){.done = -1};
    if (!f)
        return errno == ENOENT
                   ? CFX_OK
                   : cfx_fail(err, CFX_EIO, "%s: %s", path, strerror(errno));
    int n = fscanf(f, READ_STATE, &out->run, &out->rows, &out->done);
    fclose(f);
    return n == 3 && out->done >= 0
               ? CFX_OK
               : cfx_fail(err, CFX_EPARSE, "%s: is no file of a shard", path);
}

static cfx_status other_run(const char *path, cfx_error *err)
{
    return cfx_fail(
        err, CFX_EINVAL,
        "%s: is of a run with another model, other inputs or options: remove it, or give another --output-dir",
        path);
}

/* Refuse a directory in which shards of another run are. */
static cfx_status check_others(const shard *s, cfx_error *err)
{
    DIR *d = opendir(s->r->dir);
    cfx_status st = CFX_OK;
    if (!d)
        return cfx_fail(err, CFX_EIO, "%s: %s", s->r->dir, strerror(errno));
    for (struct dirent *e; !st && (e = readdir(d));) {
        char path[4096];
        int i, n, end = -1;
        state is;
        if (sscanf(e->d_name, "shard-%9d-of-%9d%n", &i, &n, &end) < 2 ||
            end < 0 || e->d_name[end])
            continue;
        int len = snprintf(path, sizeof(path), "%s/%s", s->r->dir, e->d_name);
        if (len > 0 && len < (int)sizeof(path))
            st = read_state(&is, path, err);
        if (!st && is.done >= 0 && is.run != s->run)
            st = other_run(path, err);
    }
    closedir(d);
    return st;
}

static cfx_status resume(shard *s, cfx_error *err)
{
    char path[4096];
    state is;
    cfx_status st = check_others(s, err);
    if (!st)
        st = state_path(path, s, s->r->shard.index, err);
    if (!st)
        st = read_state(&is, path, err);
    if (st || is.done < 0)
        return st;
    if (is.rows != s->rows || is.done > s->end - s->begin)
        return other_run(path, err);
    s->done = is.done;
    return CFX_OK;
}

/* Count the shards that are not done yet; none if this one's file is gone, since
 * another process then found that all are. */
static cfx_status count_missing(const shard *s, int *out, cfx_error *err)
{
    const int n = s->r->shard.count;
    cfx_status st = CFX_OK;
    bool gone = false;
    *out = 0;
    for (int i = 0; i < n && !st; i++) {
        char path[4096];
        state is = {0};
        st = state_path(path, s, i, err);
        if (!st)
            st = read_state(&is, path, err);
        int64_t all = s->batches * (i + 1) / n - s->batches * i / n;
        *out += is.done != all;
        gone |= i == s->r->shard.index && is.done < 0;
    }
    if (gone)
        *out = 0;
    return st;
}

/* ---- The run ---- */

static cfx_status run_batch(shard *s, int64_t i, cfx_error *err)
{
    const cli_rows_run *r = s->r;
    cli_result result = {.value = CFX_NOTHING, .names = r->names};
    cli_row_range range;
    cfx_status st = take(s, i, &range, err);

    cfx_context_seed(r->ctx, (uint64_t)i); /* as in any other shard */
    if (!st)
        st = r->run(r->user, &r->rows->one, &result.value, err);
    if (!st)
        st = cli_row_files_write(&s->files, &result, &range, err);
    cfx_value_unref(result.value);
    if (st)
        cfx_fail_at(err, "rows %lld to %lld",
                    (long long)(range.at - range.skip),
                    (long long)(range.at - range.skip + range.n - 1));
    return st;
}

/* Refuse a model whose rows depend on the batches before. */
static cfx_status run_first(shard *s, int64_t i, cfx_error *err)
{
    uint64_t before = 0, after = 0;
    cfx_status st = sum_state(&before, s->r->gm, true, err);
    if (!st)
        st = run_batch(s, i, err);
    if (!st)
        st = sum_state(&after, s->r->gm, true, err);
    return st || before == after
               ? st
               : cfx_fail(
                     err, CFX_EUNSUPPORTED,
                     "the model writes to its buffers, so that a row depends on those before: it cannot run in batches");
}

static cfx_status run_batches(shard *s, cfx_error *err)
{
    const int64_t n = s->end - s->begin, first = s->done;
    cli_progress *shown = cli_progress_begin("running batches");
    cfx_status st = CFX_OK;

    while (s->done < n && !st) {
        int64_t i = s->begin + s->done;
        st = s->done == first ? run_first(s, i, err) : run_batch(s, i, err);
        s->done += !st;
        if (!st && time(NULL) - s->written >= EVERY)
            st = write_state(s, err);
        if (shown)
            cli_progress_report(shown, (size_t)s->done, (size_t)n);
    }
    cli_progress_end(shown);
    if (st && s->done > first) {
        cfx_error unused = {0}; /* the first failure is told */
        write_state(s, &unused);
    }
    return st ? st : write_state(s, err);
}

/* Rename the results, which come before the files of shards: if this is ended between
 * them, any shard that runs again does the rest. */
static cfx_status finish(shard *s, cfx_error *err)
{
    const cli_shard *is = &s->r->shard;
    int missing;
    cfx_status st = count_missing(s, &missing, err);
    if (!st && !missing)
        st = cli_row_files_finish(s->r->dir, err);
    for (int i = 0; !st && !missing && i < is->count; i++) {
        char path[4096];
        st = state_path(path, s, i, err);
        if (!st && unlink(path) && errno != ENOENT)
            st = cfx_fail(err, CFX_EIO, "%s: %s", path, strerror(errno));
    }
    if (!st && s->r->to && missing)
        fprintf(s->r->to, "shard %d of %d is done, %d to go\n", is->index + 1,
                is->count, missing);
    else if (!st && s->r->to)
        fprintf(s->r->to, "shard %d of %d is done, and so are all others\n",
                is->index + 1, is->count);
    return st;
}

cfx_status cli_run_rows(const cli_rows_run *r, cfx_error *err)
{
    shard s;
    cfx_status st = shard_init(&s, r, err);
    if (!st && mkdir(r->dir, 0777) && errno != EEXIST)
        st = cfx_fail(err, CFX_EIO, "%s: %s", r->dir, strerror(errno));
    if (!st)
        st = resume(&s, err);
    if (!st)
        st = run_batches(&s, err);
    cli_row_files_release(&s.files);
    return st ? st : finish(&s, err);
}
