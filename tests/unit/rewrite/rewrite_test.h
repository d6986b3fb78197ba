/*
 * rewrite_test.h -- graphs in a short notation, for tests of patterns.
 *
 * "x y | a = torch.add(x, y) | b = a.relu() | b" is a graph with two
 * placeholders, a function, a method, and what it returns; calls begin with
 * a dotted name, methods with a node, modules with `self.`, attributes are
 * `self.w` without parentheses. Arguments are in Python's notation.
 */
#ifndef CFX_REWRITE_TEST_H
#define CFX_REWRITE_TEST_H

#include <check.h>

#include <cfx/graph_module.h>

/* Add it to a graph; a text that does not read fails the test. */
void build_graph(cfx_graph *g, const char *text);

/* A graph, or a GraphModule over a root that it takes (NULL: an empty one). */
cfx_graph *new_graph(cfx_context *ctx, const char *text);
cfx_module *new_module(cfx_context *ctx, cfx_module *root, const char *text);

/* str(graph), malloc'ed. */
char *graph_text(const cfx_graph *g);

#endif
