/*
 * rows -- read the rows of rows.txt, which describes the format at its top.
 */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static bool read_line(char *line, FILE *from, int *number)
{
    while (fgets(line, BENCH_TEXT, from)) {
        ++*number;
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '#')
            return true;
    }
    return false;
}

static bool copy(char *to, size_t size, const char *from, size_t n)
{
    if (n >= size)
        return false;
    memcpy(to, from, n);
    to[n] = '\0';
    return true;
}

/* Parse the text after '|'. */
static bool read_peer(bench_row *row, const char *text)
{
    long long mnk[3];

    if (sscanf(text, " sgemm %lld %lld %lld", &mnk[0], &mnk[1], &mnk[2]) ==
        3) {
        for (int i = 0; i < 3; i++)
            row->sgemm[i] = mnk[i];
        return true;
    }
    return sscanf(text, " memory %lf %lf", &row->memory[0], &row->memory[1]) ==
           2;
}

static bool read_head(bench_row *row, char *line)
{
    char *colon = strchr(line, ':'), *bar = strchr(line, '|'), *rest = NULL;

    memset(row, 0, sizeof(*row));
    if (!colon ||
        !copy(row->name, sizeof(row->name), line, (size_t)(colon - line)))
        return false;
    if (bar)
        *bar = '\0';
    for (char *word = strtok_r(colon + 1, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        if (row->ninputs == BENCH_INPUTS || !strchr(word, '=') ||
            !copy(row->input[row->ninputs++], BENCH_NAME, word, strlen(word)))
            return false;
    }
    return !bar || read_peer(row, bar + 1);
}

static bool read_body(bench_row *row, const char *line)
{
    size_t used = strlen(row->modules);

    if (!strncmp(line, "zoo ", 4))
        return copy(row->zoo, sizeof(row->zoo), line + 4, strlen(line + 4));
    if (!strncmp(line, "call_", 5))
        return copy(row->call, sizeof(row->call), line, strlen(line));
    return snprintf(row->modules + used, sizeof(row->modules) - used, "  %s\n",
                    line) < (int)(sizeof(row->modules) - used);
}

bool bench_read_row(bench_row *row, FILE *from, int *number)
{
    char line[BENCH_TEXT];
    bool ok;

    do {
        if (!read_line(line, from, number))
            return false;
    } while (!line[0]);
    ok = read_head(row, line);
    while (ok && read_line(line, from, number) && line[0])
        ok = read_body(row, line);
    if (ok && (row->zoo[0] || row->call[0]))
        return true;
    fprintf(stderr, "bench-speed: line %d of the rows makes no sense\n",
            *number);
    return false;
}

/* ---- Models ---- */

static char *read_file(const char *folder, const char *name)
{
    char path[4096], *text = NULL;
    size_t size = 0, got = 0;
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (!(f = fopen(path, "r"))) {
        perror(path);
        return NULL;
    }
    do {
        char *more = realloc(text, size += 65536);
        if (!more)
            break;
        text = more;
        got += fread(text + got, 1, size - got - 1, f);
        text[got] = '\0';
    } while (got == size - 1);
    fclose(f);
    return text;
}

char *bench_model_text(const bench_row *row, const char *zoo)
{
    char *text = NULL;
    size_t size;
    FILE *f;

    if (row->zoo[0])
        return read_file(zoo, row->zoo);
    if (!(f = open_memstream(&text, &size)))
        return NULL;
    fprintf(f,
            row->modules[0] ? "Bench(\n%s)\n\ngraph():\n"
                            : "Bench(%s)\n\ngraph():\n",
            row->modules);
    for (int i = 0; i < row->ninputs; i++) {
        int n = (int)strcspn(row->input[i], "=");
        fprintf(f, "    %%%.*s : [num_users=1] = placeholder[target=%.*s]\n",
                n, row->input[i], n, row->input[i]);
    }
    fprintf(f, "    %%result : [num_users=1] = %s\n    return result\n",
            row->call);
    return fclose(f) ? NULL : text;
}
