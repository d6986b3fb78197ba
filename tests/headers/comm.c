/*
 * A communicator of one's own.
 */
#include "example.h"

#include <cfx/comm.h>

@comm.h.1

static int released;

static void pipe_release(cfx_comm *c)
{
    (void)c;
    released++;
}

@comm.h.2

/* Two ranks, of which the other one answers each byte with its successor. */
static cfx_status pipe_all_to_all(cfx_comm *c, const cfx_group *g,
                                  const void *in, const int64_t *give,
                                  void *out, const int64_t *take,
                                  cfx_error *err)
{
    const char *from = in;
    char *to = out;
    if (g->size != 2 || c->rank || give[1] != 1 || take[1] != 1)
        return cfx_fail(err, CFX_EIO, "the pipe carries bytes one by one");
    to[0] = from[0];
    to[1] = (char)(from[1] + 1);
    return CFX_OK;
}

int main(void)
{
    cfx_comm pipe = {&pipe_class, NULL, 0, 2};
    cfx_group world;
    int8_t one = 1, both[2], sum;
    begin();
    pipe.ctx = ctx;
    require(!cfx_context_set_comm_take(ctx, &pipe, &err));
    require(!cfx_context_find_group(ctx, "0", &world, &err));
    require(!cfx_comm_all_gather(ctx, &world, &one, both, 1, &err));
    require(both[0] == 1 && both[1] == 2);
    require(!cfx_comm_all_reduce(ctx, &world, CFX_REDUCE_SUM, CFX_I8, &one,
                                 &sum, 1, &err));
    require(sum == 3);
    cfx_context_free(ctx);
    require(released == 1);
    return 0;
}
