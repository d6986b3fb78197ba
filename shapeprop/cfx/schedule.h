/*
 * cfx/schedule.h -- the collectives of a graph, in order, compared over all ranks
 * before any of them runs.
 *
 * The shapes of a graph decide which collectives a rank calls (cfx/comm.h). Ranks
 * that disagree would wait for each other forever, or combine the wrong numbers.
 */
#ifndef CFX_SCHEDULE_H
#define CFX_SCHEDULE_H

#include <cfx/shape_prop.h>

CFX_BEGIN_DECLS

/*
 * Compare the version of the library, the graph and, for each group, the
 * collectives of all ranks for these inputs. The shapes of the inputs may
 * differ. Where ranks differ, it fails on all of them with CFX_EGRAPH and one
 * text, which names two ranks, their calls and nodes. In a world of one rank
 * it does nothing. Fails as cfx_shape_prop_init and cfx_interp_run do.
 */
CFX_API cfx_status cfx_schedule_agree(cfx_module *gm, const cfx_value *inputs,
                                      size_t ninputs, cfx_error *err);

CFX_END_DECLS

#endif
