/*
 * vmap_test -- calls on tensors with batches of torch.vmap: what is refused, and
 * what is given back. golden/pt2/vmap has results of PyTorch.
 */
#include <cfx/scope.h>
#include <string.h>

#include "tests/unit/failing_alloc.h"
#include "tests/unit/unit.h"

static cfx_context *ctx;
static cfx_scope s;

static void start(void)
{
    const cfx_options o = {.size = sizeof(o),
                           .threads = 1,
                           .allocator = {test_alloc, test_free, NULL}};
    ck_assert_int_eq(cfx_context_new(&ctx, &o, NULL), CFX_OK);
    cfx_scope_init(&s, &cfx_eager_class, ctx, NULL);
}

static void stop(void)
{
    cfx_scope_release(&s);
    cfx_context_free(ctx);
    ck_assert_int_eq(held, 0);
}

#define CALL(name, ...) cfx_call_function(&s, name, CFX_ARGS(__VA_ARGS__))

static cfx_value numbers(int64_t n)
{
    return CALL("torch.arange", cfx_int(n));
}

static cfx_value enter(cfx_value x, int level)
{
    return CALL("torch._functorch.predispatch._add_batch_dim", x, cfx_int(0),
                cfx_int(level));
}

static cfx_value leave(cfx_value x, int level, int64_t size)
{
    return CALL("torch._C._functorch._remove_batch_dim", x, cfx_int(level),
                cfx_int(size), cfx_int(0));
}

static void assert_numbers(cfx_value x, int rank, const int64_t *want,
                           size_t n)
{
    ck_assert_msg(!cfx_scope_failed(&s), "%s", s.error.text);
    ck_assert_int_eq(x.u.tensor->rank, rank);
    x = CALL("Tensor.contiguous", x);
    ck_assert_int_eq(cfx_tensor_numel(x.u.tensor), (int64_t)n);
    ck_assert_mem_eq(x.u.tensor->data, want, n * sizeof(*want));
}

static void assert_refused(const char *words)
{
    ck_assert(cfx_scope_failed(&s));
    ck_assert_msg(strstr(s.error.text, words) != NULL, "%s", s.error.text);
}

TEST_CASE(batches_of_two_levels_broadcast)
{
    const int64_t want[] = {0, 1, 2, 10, 11, 12};
    cfx_value x = enter(CALL("torch.mul", numbers(2), cfx_int(10)), 1);
    cfx_value y = CALL("torch.add", x, enter(numbers(3), 2));
    assert_numbers(leave(leave(y, 2, 3), 1, 2), 2, want, 6);
}

/* PyTorch looks at logical axes, too. */
TEST_CASE(logical_axes_are_aligned_from_the_right)
{
    const int64_t want[] = {0, 1, 2, 1, 2, 3};
    cfx_value x = enter(numbers(2), 1);
    assert_numbers(leave(CALL("torch.add", x, numbers(3)), 1, 2), 2, want, 6);
}

TEST_CASE(a_tensor_without_the_batch_is_repeated)
{
    const int64_t want[] = {0, 1, 0, 1, 0, 1};
    assert_numbers(leave(numbers(2), 1, 3), 2, want, 6);
}

TEST_CASE(other_operators_are_called_for_each_slice)
{
    const int64_t want[] = {3, 12};
    cfx_value shape = cfx_tuple(&s, cfx_int(2), cfx_int(3));
    cfx_value x = enter(CALL("torch.reshape", numbers(6), shape), 1);
    assert_numbers(leave(CALL("torch.sum", x, cfx_int(-1)), 1, 2), 1, want, 2);
}

TEST_CASE(vmap_writes_nothing)
{
    CALL("Tensor.add_", enter(numbers(2), 1), cfx_int(1));
    assert_refused("within vmap, nothing can be written to");
}

TEST_CASE(vmap_does_not_guess_a_type)
{
    cfx_value y = CALL("Tensor.to", numbers(3), cfx_value_of_dtype(CFX_I32));
    CALL("torch.add", enter(numbers(2), 1), y);
    assert_refused("convert one of them");
}

TEST_CASE(vmap_draws_no_numbers)
{
    CALL("torch.rand_like", enter(CALL("torch.ones", cfx_int(2)), 1));
    assert_refused("is not supported within vmap");
}

TEST_CASE(a_level_is_entered_once)
{
    cfx_value shape = cfx_tuple(&s, cfx_int(2), cfx_int(3));
    cfx_value x = enter(CALL("torch.reshape", numbers(6), shape), 1);
    enter(x, 1);
    assert_refused("has a batch of level 1 already");
}

TEST_CASE(levels_are_few)
{
    enter(numbers(2), 9);
    assert_refused("vmap has at most 8 levels");
}

/* Aligned, indexed and sliced calls, after so many allocations. */
static cfx_status call_all(long n)
{
    start();
    cfx_value x = enter(numbers(2), 1), y = enter(numbers(3), 2);
    cfx_value places = cfx_tuple(&s, x, y);
    cfx_value table = CALL("torch.ones",
                           cfx_tuple(&s, cfx_int(2), cfx_int(3)));
    ck_assert(!cfx_scope_failed(&s));
    refused = false;
    allowed = n;
    x = CALL("torch.add", x, y);
    y = CALL("operator.getitem", table, places);
    x = CALL("torch.sum", CALL("torch.mul", x, y));
    leave(leave(x, 2, 3), 1, 2);
    allowed = -1;
    cfx_status st = s.error.code;
    stop();
    return st;
}

TEST_CASE(vmap_gives_all_back_where_memory_is_lacking)
{
    stop();
    for (long n = 0; !n || refused; n++) {
        cfx_status st = call_all(n);
        ck_assert_msg(refused ? st == CFX_ENOMEM : !st, "%ld: %d", n, st);
    }
    start();
}

TEST_SUITE(vmap, .setup = start, .teardown = stop)
