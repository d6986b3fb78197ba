/*
 * follow.h -- the effects of a module that is no graph. Not installed.
 */
#ifndef CFX_FOLLOW_H
#define CFX_FOLLOW_H

#include <cfx/effects.h>
#include <cfx/module.h>

/* What is assumed where nothing can be known. */
extern const cfx_effects cfx_graph__worst;

/* What a call of a module with a forward does, by the parameters of its
 * forward; the worst where no forward could be run. Fails with CFX_ENOMEM,
 * CFX_ELIMIT, CFX_ECANCEL. */
cfx_status cfx_graph__follow(cfx_module *m, cfx_effects *e,
                             cfx_error *err);

#endif
