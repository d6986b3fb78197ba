/*
 * golden_text.h -- goldens of blocks of text: lines `-- NAME WORDS`, each with
 * what belongs to it.
 */
#ifndef CFX_GOLDEN_TEXT_H
#define CFX_GOLDEN_TEXT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include <cfx/graph_module.h>
#include <cfx/text.h>

/* The whole of $srcdir/tests/golden/NAME, for free(). */
CFX_INLINE char *golden_read(const char *name)
{
    char path[1024];
    const char *src = getenv("srcdir");
    snprintf(path, sizeof(path), "%s/tests/golden/%s", src ? src : ".", name);
    FILE *f = fopen(path, "rb");
    if (!f)
        ck_abort_msg("cannot read %s", path);
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    char *text = malloc((size_t)n + 1);
    ck_assert_ptr_nonnull(text);
    text[fread(text, 1, (size_t)n, f)] = '\0';
    fclose(f);
    return text;
}

/* A section: its name, the words behind it, its text, where the next begins.
 * All but `next` are cut out of the text in place. */
typedef struct golden_section {
    char *name, *words, *text;
    size_t len;
    char *next;
} golden_section;

CFX_INLINE bool golden_next(golden_section *s, char *at)
{
    if (!at || strncmp(at, "-- ", 3))
        return false;
    char *end = strchr(at, '\n');
    *end = '\0';
    s->name = at + 3;
    s->words = s->name + strcspn(s->name, " ");
    if (*s->words)
        *s->words++ = '\0';
    s->text = end + 1;
    char *next = strncmp(s->text, "-- ", 3) ? strstr(s->text, "\n-- ") : NULL;
    s->next = next ? next + 1 : !strncmp(s->text, "-- ", 3) ? s->text : NULL;
    s->len = s->next ? (size_t)(s->next - s->text) : strlen(s->text);
    if (next)
        *next = '\0';
    return true;
}

/* Text that grows, as a sink. */
typedef struct golden_text {
    char s[1 << 16];
    size_t len;
} golden_text;

CFX_INLINE cfx_status golden_write(void *user, const char *text, size_t len)
{
    golden_text *to = user;
    ck_assert_uint_lt(to->len + len, sizeof(to->s));
    memcpy(to->s + to->len, text, len);
    to->s[to->len += len] = '\0';
    return CFX_OK;
}

CFX_INLINE void golden_puts(golden_text *to, const char *text)
{
    golden_write(to, text, strlen(text));
}

CFX_INLINE cfx_sink golden_sink(golden_text *to)
{
    return (cfx_sink){golden_write, to};
}

/* Print a GraphModule as the oracle does: its graph, the graphs of its
 * children, the tree of modules. */
CFX_INLINE void golden_print(golden_text *to, const cfx_module *gm)
{
    cfx_sink sink = golden_sink(to);
    cfx_print_graph(sink, cfx_graph_module_graph(gm), false, NULL);
    golden_puts(to, "\n");
    for (size_t i = 0; i < cfx_module_nchildren(gm); i++) {
        const cfx_module *child = cfx_module_child_at(gm, i);
        if (!cfx_graph_module_graph(child))
            continue;
        golden_puts(to, cfx_module_name(child));
        golden_puts(to, ":\n");
        cfx_print_graph(sink, cfx_graph_module_graph(child), false, NULL);
        golden_puts(to, "\n");
    }
    cfx_print_modules(sink, gm, NULL);
    golden_puts(to, "\n");
}

#endif
