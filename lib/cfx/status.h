/*
 * cfx/status.h -- status codes and error messages.
 *
 * Every function that can fail returns a cfx_status: CFX_OK or a negative
 * code. The message goes into a cfx_error, which the caller owns and passes
 * last; it may be NULL. A text is one line, without a final stop or newline,
 * and is written once, where the cause is known; callers may prepend the
 * place, and do not overwrite it. Clear a handled error before the next call
 * (cfx_error_clear); functions that begin a piece of work (loading a model, a
 * run, a pass) do so themselves.
 *
 *     cfx_error err = {0};
 *     if (cfx_model_load(&gm, ctx, "m.fx", NULL, &err))
 *         fprintf(stderr, "m.fx: %s\n", err.text);
 */
#ifndef CFX_STATUS_H
#define CFX_STATUS_H

#include <stdbool.h>

#include <cfx/compiler.h>

typedef enum cfx_status {
    CFX_OK = 0,
    CFX_ENOMEM = -1, /* an allocation failed, or max_memory is reached */
    CFX_EINVAL = -2, /* an argument's value makes no sense */
    CFX_ESHAPE = -3, /* shapes that do not fit each other */
    CFX_EDTYPE = -4, /* a data type the operation does not take */
    CFX_ENAME = -5,  /* a module, node, weight or other name is unknown */
    CFX_EPARSE = -6, /* a text or file is malformed */
    CFX_EIO = -7,    /* the system refused to read or write */
    CFX_EGRAPH = -8, /* a graph that is not well-formed */
    CFX_EUNSUPPORTED = -9, /* understood, but not offered */
    CFX_ELIMIT = -10,      /* the time limit is reached */
    CFX_ECANCEL = -11,     /* cancelled by the caller */
    CFX_ENUMERIC = -12,    /* a value that a check forbids (NaN, infinity) */
    CFX_EUSER = -13,       /* of a callback; passes through untouched */
    CFX_EUNDECIDED = -14,  /* the text of a module does not tell an argument */
    CFX_EOPERATOR = -15,   /* no registered operator has the name of a call */
    CFX_EWEIGHT = -16,     /* a parameter or buffer has no numbers */
    CFX_EATTR = -17,       /* a get_attr names nothing that the module has */
    CFX_EINPUT = -18       /* an input is not as the model declares it */
} cfx_status;

enum { CFX_ERROR_TEXT = 2048 };

/* The first member is no enum, so that `= {0}` is C++, too. */
typedef struct cfx_error {
    bool located; /* the text names the node: "While executing %x" */
    cfx_status code;
    char text[CFX_ERROR_TEXT];
} cfx_error;

CFX_BEGIN_DECLS

/* Clear an error; NULL is allowed. Never fails. */
CFX_INLINE void cfx_error_clear(cfx_error *err)
{
    if (err) {
        err->code = CFX_OK;
        err->located = false;
        err->text[0] = '\0';
    }
}

/*
 * Write the text of an error, unless err already holds one or is NULL; a text
 * that is too long is cut. Returns `code`, so that a failing function can end
 * in `return cfx_fail(err, CFX_EINVAL, ...)`.
 */
CFX_API cfx_status cfx_fail(cfx_error *err, cfx_status code, const char *fmt,
                            ...) CFX_PRINTF(3, 4);

/* cfx_fail with CFX_ENOMEM and the text "out of memory". */
CFX_API cfx_status cfx_no_memory(cfx_error *err);

/* Like cfx_fail, with the code and the text of `cause`, which must hold an
 * error. */
CFX_API cfx_status cfx_fail_from(cfx_error *err, const cfx_error *cause);

/* Put "PLACE: " before the text of an error. Returns its code. */
CFX_API cfx_status cfx_fail_at(cfx_error *err, const char *fmt, ...)
    CFX_PRINTF(2, 3);

/* The name of a status, such as "CFX_ESHAPE". Never fails. */
CFX_API const char *cfx_status_name(cfx_status code);

CFX_END_DECLS

#endif
