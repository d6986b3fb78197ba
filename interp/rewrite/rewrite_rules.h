/*
 * rewrite_rules.h -- what rewrite rules are made of: facts about the graph, and calls
 * recorded in the form of the node that they replace. Not installed.
 *
 * A pass that is a list of rules (cfx_rewrite_rule in cfx/pass.h) asks for facts
 * in `where`. They are found at the first question, and again for each rule,
 * since edits change them.
 */
#ifndef CFX_REWRITE_H
#define CFX_REWRITE_H

#include <cfx/pass.h>

#include "interp/rewrite/affine.h"
#include "interp/rewrite/binding.h"

/* Apply the rules of a pass, or those that undo it. */
cfx_status cfx_rules__apply(cfx_pass_call *p, const cfx_rewrite_rule *rules);

/* ---- Facts; NULL for lack of memory, which then fails the pass ---- */

/* The kinds that each node's value may have; inputs are tensors unless their
 * type says otherwise. */
const cfx_graph_kinds *cfx_facts__kinds(cfx_pass_call *p);
/* The modules and parameters that the graph names, and those that it writes. */
path_uses *cfx_facts__paths(cfx_pass_call *p);

/* Is n a tensor, by its kind or its meta? */
bool cfx_facts__is_tensor(cfx_pass_call *p, const cfx_node *n);
/* Is n known to be a tensor of floating-point numbers? */
bool cfx_facts__is_float(const cfx_node *n);
/* Have both the same dtype, shape and strides? NULL has not. */
bool cfx_facts__same_layout(const cfx_tensor *a, const cfx_tensor *b);
/* A loaded parameter or buffer of floats that is never written; NULL: v is none. */
cfx_tensor *cfx_facts__constant(cfx_pass_call *p, cfx_value v);
/* The number that a literal is, or the only element of a constant; false: v is
 * neither. */
bool cfx_facts__number(cfx_pass_call *p, cfx_value v, double *out);

/* ---- State ---- */

/* Add a buffer to p->gm under the first free name of PREFIX0, PREFIX1, ... Fails
 * with CFX_EINVAL for a name longer than `size`, CFX_ENOMEM. */
cfx_status cfx_pass__store_tensor(cfx_pass_call *p, const char *prefix,
                                  cfx_tensor *t, char *name, size_t size);

/* ---- For `pattern` ---- */

/* a / b, by the operator div or true_divide, which `/` calls. */
cfx_value cfx_pattern__quotient(cfx_scope *s, cfx_value a, cfx_value b);

/* ---- For `where` ---- */

/* The known type of the tensor that is bound to the i-th placeholder; or NULL. */
const cfx_tensor *cfx_match__known(const cfx_match *m, int i);
/* Is the first placeholder known to be a tensor of floating-point numbers? */
bool cfx_match__is_float(cfx_pass_call *p, const cfx_match *m);
/* Is v, a number or a list of one, the last axis of placeholder x, whose type is known? */
bool cfx_match__is_last_axis(const cfx_match *m, int x, cfx_value v);

/* ---- For `build` ---- */

/* The partner of the pattern's node of that name; NULL if it is not a node. */
cfx_node *cfx_match__node(const cfx_match *m, const char *name);

/* Call the operator `name` ("mul") as `like` is written: as a method, a function
 * of operator or torch, or an ATen overload. */
cfx_value cfx_call__like(cfx_scope *s, const cfx_node *like, const char *name,
                         cfx_args args);

/* The arguments of a node, to be changed and recorded again. */
typedef struct cfx_call_copy {
    cfx_value args[CFX_MAX_PARAMS], kwargs[2 * CFX_MAX_PARAMS];
    size_t nargs, nkwargs;
} cfx_call_copy;

/* Fails the scope for more arguments than a schema has parameters. */
void cfx_call_copy__init(cfx_scope *s, cfx_call_copy *c, const cfx_node *n);
/* Replace the argument of a parameter, given by position or by name; v absent:
 * it is not given, or None where others follow. */
void cfx_call_copy__set(cfx_scope *s, cfx_call_copy *c, int position,
                        const char *name, cfx_value v);

/* Fail the scope with p->err. */
cfx_value cfx_scope__fail_from(cfx_scope *s, const cfx_error *err);

#endif
