/*
 * reader.h -- shared by the readers of text. Not installed.
 *
 * A reader has a stack of values: the items of an aggregate are pushed, then
 * replaced by the aggregate. Releasing the reader releases them. Positions are
 * pointers into the text; line and column are computed only for errors.
 */
#ifndef CFX_READER_H
#define CFX_READER_H

#include <cfx/graph_module.h>
#include <cfx/text.h>

#include "format/text/lexer.h"

typedef struct cfx_reader {
    cfx_context *ctx;
    const char *name; /* of the file; NULL: messages have the column
                               only */
    const char *text, *end;
    bool lossless;            /* the superset: strings stand in quotes */
    bool bare_nodes;          /* a bare name may be that of a node */
    bool no_names;            /* a bare name that is nothing is an error */
    cfx_graph *graph;         /* whose nodes %names are; may be NULL */
    const cfx_map *variables; /* of code: bare names -> cfx_node; or NULL */
    cfx_value *stack;
    size_t n, cap;
    cfx_buf string, word;
    bool quiet;       /* errors are tried out: they need no text */
    const char *body; /* see read_loose.c */
    uint32_t *match;
    size_t match_cap;
    cfx_map tensors; /* of the superset: name -> cfx_tensor, counted */
    bool undecided;  /* a module has an undecided argument */
    cfx_error *err;
    cfx_error own_error;
} cfx_reader;

void cfx_reader_init(cfx_reader *r, cfx_context *ctx, const char *name,
                     const char *text, size_t len, cfx_error *err);
void cfx_reader_release(cfx_reader *r);

/* Fail at a place of the text. */
cfx_status cfx_reader_fail(cfx_reader *r, const char *at, cfx_status code,
                           const char *fmt, ...) CFX_PRINTF(4, 5);
/* Prepend the position to an error of a callee. */
cfx_status cfx_reader_fail_at(cfx_reader *r, const char *at);

/* Push a value, which it takes; absent means that memory lacked. */
cfx_status cfx_reader_push_take(cfx_reader *r, cfx_value v);
cfx_status cfx_reader_push_str(cfx_reader *r, cfx_kind kind, const char *s,
                               size_t len);
/* The values after the first `n`; NULL while there is no stack. */
CFX_INLINE const cfx_value *cfx_reader_from(const cfx_reader *r, size_t n)
{
    return r->stack ? r->stack + n : NULL;
}
/* Give back what was pushed after there were `n`. */
void cfx_reader_pop_to(cfx_reader *r, size_t n);
/* Replace the values after the first `n` by an aggregate of them. */
cfx_status cfx_reader_gather(cfx_reader *r, cfx_kind kind, size_t n);

/* `len` bytes as text that ends in NUL, until the next call; NULL without
 * memory. */
const char *cfx_reader_word(cfx_reader *r, const char *s, size_t len);

/* The node of that name, or NULL. */
cfx_node *cfx_reader_node(cfx_reader *r, const char *s, size_t len);
/* Give a node the name that the text has: the graph renames nodes with
 * reserved names. */
cfx_status cfx_read__keep_name(cfx_reader *r, cfx_node *n, const char *s,
                               size_t len);

/* ---- Values in Python's notation: read_value.c ---- */

/* Push the value that begins at the token, and go past it. */
cfx_status cfx_read__value(cfx_reader *r, cfx_lexer *lx, int depth);
/* Fail because of the token. */
cfx_status cfx_read__unexpected(cfx_reader *r, const cfx_lexer *lx,
                                const char *wanted);
/* Go past a bracket or sign, or fail. */
cfx_status cfx_read__punct(cfx_reader *r, cfx_lexer *lx, char punct);
/*
 * Push the arguments of a call, from after its `(`: of each a key (a str, or
 * None where it is positional) and a value; stops at `)` or the end.
 */
cfx_status cfx_read__arguments(cfx_reader *r, cfx_lexer *lx, int depth);

/* Push the constant that a word is (None, True, inf, torch.float32); *found:
 * is it one? */
cfx_status cfx_read__constant(cfx_reader *r, const char *s, size_t len,
                              bool *found);

/* ---- Values as torch.fx prints them: read_loose.c ---- */

/* Push a node's args, or its kwargs as alternating keys and values, from the
 * text between the brackets. `chain` is the target, NULL if unknown. */
cfx_status cfx_read__loose_args(cfx_reader *r, const char *s, const char *end,
                                const struct cfx_target *chain);
cfx_status cfx_read__loose_kwargs(cfx_reader *r, const char *s,
                                  const char *end);
/* Make devices of the strings among them where the target takes a device: its
 * text is that of its name. `args` and `kwargs` are where the two begin on the
 * stack. */
void cfx_read__loose_devices(cfx_reader *r, const struct cfx_target *chain,
                             size_t args, size_t kwargs);

/* ---- Parts of a model ---- */

/* One line, without its end. */
typedef struct cfx_line {
    const char *s, *end, *next;
} cfx_line;

/* The line at `at`; false at the end of the text. */
bool cfx_reader_line(const cfx_reader *r, const char *at, cfx_line *line);
/* The position of its first nonblank character. */
const char *cfx_line_begin(const cfx_line *line);
/* Does the text at s begin with a word? */
CFX_INLINE bool cfx_starts(const char *s, const char *end, const char *word)
{
    while (*word && s < end && *s == *word)
        s++, word++;
    return *word == '\0';
}

/* The tree of modules at *at, and go past it. `typed`: its root is of the type
 * that its line names, no container. */
cfx_status cfx_read__tree(cfx_reader *r, const char **at, bool typed,
                          cfx_module **out);
/* Read the graph whose header is at *at, and advance. `path` is the module in
 * the header of the superset, empty for the root. */
cfx_status cfx_read__graph(cfx_reader *r, const char **at, cfx_line *path,
                           cfx_graph **out);
/* Replace quantized tensors in all graphs of a tree by tensors of integers and of
 * floats. Fails with CFX_EUNSUPPORTED for a call whose result has no known scale,
 * after the file's name (may be NULL), CFX_ENOMEM. */
cfx_status cfx_read__quantized(cfx_module *gm, const char *name,
                               cfx_error *err);
/* Does a graph begin with that line? */
bool cfx_read__is_graph(const cfx_line *line);

/* "f32[2, 3]": the current token is the type. */
cfx_status cfx_read__type(cfx_reader *r, cfx_lexer *lx, cfx_dtype *dtype,
                          int *rank, cfx_dim *shape);

#endif
