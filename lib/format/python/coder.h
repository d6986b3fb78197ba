/*
 * coder.h -- the state of a code printer. Not installed.
 *
 * print_code writes the statements, code_names chooses their names, and
 * code_text puts the whole together.
 */
#ifndef CFX_CODER_H
#define CFX_CODER_H

#include "format/print.h"
#include "graph/names.h"

/* Lines of one text that grows; each ends in a newline. */
struct cfx_code_body {
    cfx_buf text;
    const cfx_node **node; /* of each line, where they are kept */
    size_t len, cap;
    bool notes; /* are they? */
};

typedef struct cfx_coder {
    cfx_context *ctx;
    const cfx_graph *graph;
    const cfx_code_options *how;
    cfx_names names;
    cfx_map globals;           /* qualified name -> its name here */
    cfx_map wrapped;           /* the names of wrapped functions */
    const char **name;         /* of each node, by id; NULL: none yet */
    const cfx_node **last_use; /* of each node, by id */
    size_t nids;
    cfx_code_body body;
    /* The text, name and description (may be empty) of each parameter, each
     * ending in NUL. */
    cfx_buf params, param_names, descs;
    size_t nparams;
    cfx_buf wraps, type, summary, last_summary;
    cfx_out *out; /* to the body, or to the parameters */
    cfx_values values;
    cfx_error *err;
} cfx_coder;

CFX_INLINE bool cfx_starts(const char *s, const char *prefix)
{
    return !strncmp(s, prefix, strlen(prefix));
}

/* ---- code_names.c ---- */

/* The name of a node; `user` is the coder. */
const char *cfx_coder__name(void *user, const cfx_node *n);
/* The name of the function that a target spells as torch.fx prints it. */
const char *cfx_coder__function(cfx_coder *c, const char *target);
/* Print a type: `typing.List[int]` becomes `typing_List[int]`, and Optional
 * becomes Union. A text that is no type is quoted. */
void cfx_coder__type(cfx_coder *c, const char *type);
/* Enter the globals that all code has. */
void cfx_coder__add_globals(cfx_coder *c);

/* ---- code_text.c ---- */

/* End a line, which belongs to node n. False on lack of memory. */
bool cfx_code_body__note(cfx_code_body *b, const cfx_node *n);
void cfx_code_body__release(cfx_code_body *b);
/* Let the transforms make a new body of the body; failures go to c->err. */
void cfx_coder__transform(cfx_coder *c);
/* Write everything. */
void cfx_coder__assemble(cfx_out *o, cfx_coder *c, cfx_code_frame *frame);

#endif
