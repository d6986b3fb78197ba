/*
 * print.h -- what the printers share. Not installed.
 */
#ifndef CFX_PRINT_H
#define CFX_PRINT_H

#include <cfx/graph_module.h>
#include <cfx/text.h>

#include "base/util.h"

/* ---- Output: pieces are gathered and go to the sink in lumps. After a
 * failure nothing more is written; the status is kept. ---- */

typedef struct cfx_out {
    cfx_sink to;
    cfx_status status;
    size_t len;
    char text[2048];
} cfx_out;

void cfx_out_init(cfx_out *o, cfx_sink to);
void cfx_out_more(cfx_out *o, const char *s, size_t n);
CFX_INLINE void cfx_out_add(cfx_out *o, const char *s, size_t n)
{
    if (CFX_UNLIKELY(n > sizeof(o->text) - o->len)) {
        cfx_out_more(o, s, n);
        return;
    }
    memcpy(o->text + o->len, s, n);
    o->len += n;
}
CFX_INLINE void cfx_out_puts(cfx_out *o, const char *s)
{
    cfx_out_add(o, s, strlen(s));
}
CFX_INLINE void cfx_out_putc(cfx_out *o, char c)
{
    cfx_out_add(o, &c, 1);
}
void cfx_out_repeat(cfx_out *o, char c, size_t n);
void cfx_out_digits(cfx_out *o, int64_t v);
CFX_INLINE void cfx_out_int(cfx_out *o, int64_t v)
{
    if (v >= 0 && v < 10)
        cfx_out_putc(o, (char)('0' + v));
    else
        cfx_out_digits(o, v);
}
void cfx_out_float(cfx_out *o, double v);
/* Set the status, unless one is set already. */
void cfx_out_fail(cfx_out *o, cfx_status status);
/* Write what is left, and tell the status. */
cfx_status cfx_out_finish(cfx_out *o, cfx_error *err);

/* A sink that appends to a text. */
cfx_sink cfx_sink_buf(cfx_buf *b);

/* ---- Values ---- */

enum {
    /* As in `.code`: REPR, but for what Python could not read back. */
    CFX_STYLE_CODE = CFX_STYLE_LOSSLESS + 1,
    /* Python's str(): REPR, but a string or device by itself is bare. */
    CFX_STYLE_STR
};

/* A printer of values. Members other than `out` and `style` may be zero. */
typedef struct cfx_values {
    cfx_out *out;
    int style;        /* cfx_value_style or one of the above */
    bool colored;     /* literals, in the style CODE */
    size_t max_items; /* of aggregates, then how many there are; 0: all */
    /* The text for a node; NULL: its name. */
    const char *(*node_name)(void *user, const cfx_node *n);
    void *user;
    /* Print a tensor in the superset; NULL: it is refused. */
    void (*tensor)(void *user, cfx_out *out, const cfx_tensor *t);
    cfx_error *err;
} cfx_values;

/* A value without a text form makes the output fail, with p->err. */
void cfx_out__value(const cfx_values *p, cfx_value v);
/* Items separated by ", ". */
void cfx_print__items(const cfx_values *p, const cfx_value *item, size_t n);

/* A string in Python quotes. */
void cfx_print__quoted(cfx_out *o, const char *s, size_t len);
/* A string of a model or a file without quotes, so that a terminal shows it and
 * does nothing else: controls are escaped (cfx_utf8_visible). Names have none
 * (cfx_check_name). */
void cfx_out__visible(cfx_out *o, const char *s, size_t len);
/* A target, key or type: bare, or in the superset quoted where one of `stop`
 * or a quote stands in it. */
void cfx_print__word(cfx_out *o, const char *s, const char *stop,
                     bool lossless);

/* "f32[2, 3]"; with `stride`, its strides and device too. */
void cfx_print__type(cfx_out *o, const cfx_tensor *t, bool stride);
/* "N + 1" */
void cfx_print__dim(cfx_out *o, cfx_dim d);
/* A value as shapes are written: cfx_print_shape. */
void cfx_out__shape(cfx_out *o, cfx_value v, bool stride, cfx_error *err);
/* "[2, 3]" */
void cfx_print__extents(cfx_out *o, int rank, const cfx_dim *d);

/* The tensor by which a node is annotated (meta val, tensor_meta,
 * example_value), or an absent value. */
cfx_value cfx_print__meta_value(const cfx_node *n);

/* ---- Graphs ---- */

/* A node's line; `v` tells how values are printed, in the styles ARGUMENT or
 * LOSSLESS. */
void cfx_out__node(const cfx_values *v, const cfx_node *n, bool meta);

/* A whole graph but for the word `graph` (and a path): `():` and its lines. */
void cfx_out__graph(const cfx_values *v, const cfx_graph *g, bool meta);

/* A target of call_function as torch.fx prints it. */
const char *cfx_print__target(const cfx_node *n);

/* The words before a shape in a node's annotation, by the kind of its value. */
enum { CFX_SHAPE_KINDS = 5 };
extern const char *const cfx_print__shape_kinds[CFX_SHAPE_KINDS];

/* ---- Code ---- */

/* A class in print_readable; zeroed for `.code`. */
typedef struct cfx_code_frame {
    const char *class_name; /* NULL: no class line */
    size_t indent;
    size_t lines; /* how many were printed before; counted on */
} cfx_code_frame;

void cfx_out__code(cfx_out *o, const cfx_graph *g, const cfx_code_options *how,
                   cfx_code_frame *frame, cfx_error *err);

/* The comment above a node's line in verbose code, without a newline. */
void cfx_print__summary(cfx_out *o, const cfx_node *n,
                        const cfx_code_options *how, cfx_error *err);

/* The class that a GraphModule becomes: `name`, or by its own; NULL, and the
 * error, where it cannot have that name or has no graph. */
const char *cfx_print__class_name(const cfx_module *gm, const char *name,
                                  cfx_error *err);

/* ---- Modules ---- */

void cfx_print__tree(cfx_out *o, const cfx_module *m, bool lossless,
                     cfx_error *err);

/* ---- Models ---- */

/* Numbers for tensors that stand in arguments: the order of first sight. */
typedef struct cfx_numbering {
    cfx_arena keys;
    cfx_map map;
    uint64_t count;
} cfx_numbering;

void cfx_numbering_init(cfx_numbering *n, cfx_context *ctx);
void cfx_numbering_release(cfx_numbering *n);
/* The number of t; *added: is it new? */
cfx_status cfx_numbering_get(cfx_numbering *n, const cfx_tensor *t,
                             uint64_t *number, bool *added);

/* Construct a module from the arguments of m, with the state that these imply.
 * NULL if m has no constructor, or neither state nor children. */
cfx_status cfx_model__remake(cfx_module **fresh, const cfx_module *m,
                             cfx_error *err);
/* Do type and shape agree, and are both parameters or both buffers? */
bool cfx_model__same_state(const cfx_state *a, const cfx_state *b);

/* Put the tensors of that map, by their names, in the place of those in the
 * arguments that have the names; what was put leaves the map. Fails with
 * CFX_ENAME where one is left, CFX_ESHAPE where types differ, CFX_ENOMEM. */
cfx_status cfx_model__fill_tensors(cfx_module *gm, cfx_map *by_name,
                                   cfx_error *err);

#endif
