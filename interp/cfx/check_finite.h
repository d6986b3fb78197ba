/*
 * cfx/check_finite.h -- an interpreter that fails at the first value with a NaN
 * or an infinity, with CFX_ENUMERIC and the index of the element.
 */
#ifndef CFX_CHECK_FINITE_H
#define CFX_CHECK_FINITE_H

#include <cfx/interp.h>

typedef struct cfx_check_finite {
    cfx_interp base;
} cfx_check_finite;

CFX_BEGIN_DECLS

CFX_API extern const cfx_interp_class cfx_check_finite_class;

/* Prepare a zeroed struct; release it with cfx_interp_release(&c->base). */
CFX_API cfx_status cfx_check_finite_init(cfx_check_finite *c, cfx_module *gm,
                                         cfx_error *err);

CFX_END_DECLS

#endif
