/*
 * read_python.h -- the state of the reader of Python code. Not installed.
 *
 * read_python reads the file: classes, imports, methods. read_init reads __init__,
 * which makes modules. read_signature reads the parameters of forward, read_code its statements, read_operation what a
 * statement does. All stand on a lexer that holds one logical line: a line that
 * ends outside of brackets. The text is a copy in which comments are blanks.
 */
#ifndef CFX_READ_PYTHON_H
#define CFX_READ_PYTHON_H

#include "format/python/code_forms.h"
#include "format/text/reader.h"

/* A logical line, from its first character that is not blank. */
typedef struct cfx_python_line {
    const char *s, *end, *next;
    size_t indent;
} cfx_python_line;

typedef struct cfx_python {
    cfx_reader r;
    const char *source; /* the text with its comments */
    cfx_lexer lx;       /* on `line` */
    cfx_python_line line;
    const char *at;    /* after the line */
    cfx_graph *g;      /* of the forward being read */
    cfx_map variables; /* name -> cfx_node; NULL: freed */
    cfx_map aliases;   /* parameter -> the text of its node's name */
    cfx_map globals;   /* name -> the qualified name of a function */
    cfx_arena memory;  /* of globals */
    cfx_buf type, target, spare;
    bool typed, flattened;   /* the parameters are those of a pytree */
    cfx_lexer declared;      /* on the types of those that follow */
    cfx_map lifted;          /* parameter -> target of state, of a program */
    const char *inplace;     /* the name that the next statement gives */
    const char *result_type; /* of forward, or NULL */
    cfx_shape_env *env;      /* of symbols in annotations */
} cfx_python;

/* Go to the next logical line; false at the end of the text. */
bool cfx_python__find_line(const cfx_python *p, const char *at,
                           cfx_python_line *line);
/* Stand on the first token of a line. */
void cfx_python__enter(cfx_python *p, const cfx_python_line *line);

/* The character at which the token begins; '\0' at the end. */
char cfx_python__char(const cfx_python *p);
/* Go past a character that is no token, or fail. */
cfx_status cfx_python__skip(cfx_python *p, char c);
cfx_status cfx_python__unexpected(cfx_python *p, const char *wanted);
/* Is the token that word, and does it end the statement? */
bool cfx_python__at_end(const cfx_python *p);

/* The qualified name of a function that code calls by `s`; NULL without
 * memory. */
const char *cfx_python__function(cfx_python *p, const char *s, size_t len);

/* The operation of a statement; its target is in p->target. */
typedef struct cfx_operation {
    const char *at;
    cfx_opcode op;
    size_t args, kwargs; /* where they begin on the reader's stack */
} cfx_operation;

/* Read an operation; p->target is empty if there is only a variable. */
cfx_status cfx_python__operation(cfx_python *p, cfx_operation *o);
/* `[i, j]`: push one value, a tuple where there is a comma. */
cfx_status cfx_python__indices(cfx_python *p);
/* Set p->target, to a text or to a function of the module operator. */
cfx_status cfx_python__target(cfx_python *p, const char *s, size_t len);
cfx_status cfx_python__operator(cfx_python *p, const char *name);

/* Read `forward(self, ...):` from its name, and its body, into a new graph. */
cfx_status cfx_python__forward(cfx_python *p, size_t indent, cfx_graph **out);

/* Read the body of __init__, which makes the modules and the state of `m`. */
cfx_status cfx_python__init(cfx_python *p, size_t indent, cfx_module *m);

/* Read a type that annotates, up to a character of `stop`: into p->type, or
 * into *shape if it is a shape in quotes. */
cfx_status cfx_python__type(cfx_python *p, const char *stop, cfx_value *shape);
/* Go to the `=` after a type. */
void cfx_python__skip_type(cfx_python *p);
/* Read the parameters from after the bracket to the colon at the end. */
cfx_status cfx_python__parameters(cfx_python *p);
/* Is a line `x: "f32[3]"; y: "f32[2]"; `, which declares the parameters that the
 * next line flattens? */
bool cfx_python__declares(cfx_python *p, const cfx_python_line *line);
/* Read `x, y, = fx_pytree.tree_flatten_spec(...)`: the parameters, flattened.
 * p->declared is on the line before, if that declares them. */
cfx_status cfx_python__flattened(cfx_python *p);

#endif
