/*
 * code_forms.h -- the functions of Python's module operator that have a sign,
 * for the printer and the reader of code. Not installed.
 */
#ifndef CFX_CODE_FORMS_H
#define CFX_CODE_FORMS_H

#include <stddef.h>

typedef struct cfx_code_form {
    const char *name; /* in the module operator */
    const char *form;
} cfx_code_form;

/* Both end with a zeroed one. */
extern const cfx_code_form cfx_code_infix[], cfx_code_inplace[];

/* The form between two arguments whose sign stands at s, the longest one, and
 * the length of the sign; or NULL. */
const cfx_code_form *cfx_code_form__at(const cfx_code_form *table,
                                       const char *s, const char *end,
                                       size_t *len);

#endif
