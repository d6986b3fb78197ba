/*
 * expect -- text files of cases that hold what is expected of them.
 */
#define _POSIX_C_SOURCE 200809L
#include "tests/cases/expect.h"

#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 3 }; /* lines around a difference */

struct run {
    expect_kind_fn *kind;
    expect_write_fn *write;
    const char *only;
    bool update;
    int passed, failed;
};

char *expect_line(char **text)
{
    char *line = *text;
    if (!line || !*line)
        return NULL;
    size_t n = strcspn(line, "\n");
    *text = line + n + (line[n] == '\n');
    line[n] = '\0';
    return line;
}

/* ---- Differences ---- */

/* The starts of the lines of a text, for free(), and one more at its end. */
static const char **lines_of(const char *text, int *count)
{
    size_t n = 0;
    for (const char *p = text; *p; p++)
        n += *p == '\n';
    const char **line = malloc((n + 2) * sizeof(*line));
    if (!line)
        abort();
    *count = 0;
    for (const char *p = text; *p; p += *p == '\n') {
        line[(*count)++] = p;
        p += strcspn(p, "\n");
    }
    line[*count] = text + strlen(text);
    return line;
}

static bool same_line(const char *a, const char *b)
{
    size_t n = strcspn(a, "\n");
    return n == strcspn(b, "\n") && !memcmp(a, b, n);
}

static void print_lines(char mark, const char *const *line, int from, int to)
{
    for (int i = from; i < to; i++)
        printf("%c%.*s\n", mark, (int)strcspn(line[i], "\n"), line[i]);
}

/* A unified diff of one hunk, from the first line that differs to the last. */
static void print_diff(const char *path, int at, const char *want,
                       const char *have)
{
    int n, m, head = 0, tail = 0;
    const char **a = lines_of(want, &n), **b = lines_of(have, &m);
    while (head < n && head < m && same_line(a[head], b[head]))
        head++;
    while (tail < n - head && tail < m - head &&
           same_line(a[n - 1 - tail], b[m - 1 - tail]))
        tail++;
    int from = head > CONTEXT ? head - CONTEXT : 0;
    int after = tail > CONTEXT ? CONTEXT : tail;
    printf("--- %s: expected\n+++ %s: found\n@@ -%d,%d +%d,%d @@ %.*s\n", path,
           path, at + from, n - tail + after - from, at + from,
           m - tail + after - from, (int)strcspn(want, "\n"), want);
    print_lines(' ', a, from, head);
    print_lines('-', a, head, n - tail);
    print_lines('+', b, head, m - tail);
    print_lines(' ', a, n - tail, n - tail + after);
    free(a);
    free(b);
}

/* ---- Files ---- */

static char *read_whole(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t size = 0;
    if (!f) {
        perror(path);
        return NULL;
    }
    if (getdelim(&text, &size, '\0', f) < 0)
        fprintf(stderr, "%s is empty\n", path);
    fclose(f);
    return text;
}

static bool write_whole(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    bool ok = f && fputs(text, f) >= 0;
    if (f && fclose(f))
        ok = false;
    if (!ok)
        perror(path);
    return ok;
}

static char *next_line(char *p)
{
    p += strcspn(p, "\n");
    return p + (*p == '\n');
}

/* Run a case, which is on line `at` of the file, and write it anew. */
static void run_case(struct run *r, const char *path, int at, const char *text,
                     FILE *out)
{
    char *have = NULL, *copy = strdup(text);
    size_t size;
    FILE *f = open_memstream(&have, &size);
    if (!copy || !f)
        abort();
    r->write(copy, f);
    fclose(f);
    bool same = !strcmp(have, text);
    if (!same && !r->update)
        print_diff(path, at, text, have);
    r->passed += same;
    r->failed += !same;
    fputs(have, out);
    free(have);
    free(copy);
}

static bool selected(const struct run *r, const char *text)
{
    size_t n = strcspn(text, "\n");
    size_t m = r->only ? strlen(r->only) : 0;
    for (size_t i = 0; i + m <= n; i++)
        if (!m || !strncmp(text + i, r->only, m))
            return true;
    return false;
}

/* The file's text with its cases written anew, for free(). */
static char *run_cases(struct run *r, const char *path, char *text)
{
    char *anew = NULL, *end;
    size_t size;
    int at = 1;
    FILE *out = open_memstream(&anew, &size);
    if (!out)
        abort();
    for (char *p = text; *p; p = end) {
        bool is_case = r->kind(p) == EXPECT_CASE;
        for (end = next_line(p); *end && r->kind(end) == EXPECT_MORE;)
            end = next_line(end);
        char *last = end;
        while (last > p + 1 && last[-1] == '\n' && last[-2] == '\n')
            last--;
        char kept = *last;
        *last = '\0';
        if (is_case && selected(r, p))
            run_case(r, path, at, p, out);
        else
            fputs(p, out);
        *last = kept;
        fprintf(out, "%.*s", (int)(end - last), last);
        for (const char *c = p; c < end; c++)
            at += *c == '\n';
    }
    fclose(out);
    return anew;
}

static void run_file(struct run *r, const char *path)
{
    char *text = read_whole(path);
    if (!text) {
        r->failed++;
        return;
    }
    char *anew = run_cases(r, path, text);
    if (r->update && strcmp(anew, text) != 0 && !write_whole(path, anew))
        exit(1);
    free(anew);
    free(text);
}

int expect_main(int argc, char **argv, expect_kind_fn *kind,
                expect_write_fn *write)
{
    struct run r = {.kind = kind, .write = write};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-k") && i + 1 < argc)
            r.only = argv[++i];
        else if (!strcmp(argv[i], "--update"))
            r.update = true;
        else
            run_file(&r, argv[i]);
    }
    if (r.update) {
        printf("%d written anew\n", r.failed);
        return 0;
    }
    printf("%d passed, %d failed\n", r.passed, r.failed);
    return r.failed || !r.passed;
}
