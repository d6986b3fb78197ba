/*
 * run -- the walk over the prepared nodes, whole or step by step.
 *
 * A run has its own steps, holes and environment. A run that a hook begins on
 * its own interpreter gets a second set, which is prepared at the first such
 * run and then kept. `it->self` is the set of the innermost run in progress.
 */
#include "interp/walk/interp_impl.h"

#include "op/scope_impl.h"

/* ---- The environment ---- */

static void set_env(struct cfx_interp_self *self, uint32_t id, cfx_value v)
{
    if (self->env[id].kind != CFX_ABSENT)
        cfx_value_unref(self->env[id]);
    self->env[id] = v;
}

static void clear_env(struct cfx_interp_self *self)
{
    for (size_t i = 0; i < self->nsteps; i++)
        set_env(self, self->step[i].id, CFX_NOTHING);
}

/* Drop the values that the last run kept. */
static void forget_last_run(struct cfx_interp_self *self)
{
    if (self->has_run)
        clear_env(self);
    self->has_run = false;
}

cfx_status cfx_interp_set_env(cfx_interp *it, const cfx_node *n, cfx_value v,
                              cfx_error *err)
{
    if (n->graph != it->graph || n->id >= it->self->nids ||
        !it->self->step_of[n->id])
        return cfx_fail(err, CFX_EGRAPH, "node %s is not in this graph",
                        n->name);
    forget_last_run(it->self);
    set_env(it->self, n->id, cfx_value_ref(v));
    it->self->sets_inputs |= n->op == CFX_PLACEHOLDER;
    return CFX_OK;
}

cfx_value cfx_interp_env(const cfx_interp *it, const cfx_node *n)
{
    return n->id < it->self->nids ? it->self->env[n->id] : CFX_NOTHING;
}

/* ---- Nested runs ---- */

/* Switch to the inner state; the outer run goes on when the new one ends. */
static cfx_status begin_inner(cfx_interp *it, cfx_error *err)
{
    cfx_status st = it->self->inner ? CFX_OK : cfx_interp__new_inner(it, err);
    if (!st)
        it->self = it->self->inner;
    return st;
}

static void end_inner(cfx_interp *it)
{
    struct cfx_interp_self *inner = it->self;
    clear_env(inner);
    inner->has_run = inner->running = inner->stepped = false;
    inner->walking = NULL;
    inner->at = 0;
    it->self = inner->outer;
}

/* State outside of it->self that a run changes, as it was before. */
typedef struct surroundings {
    cfx_walks *walks;
    cfx_error *err;
} surroundings;

/* A run begins without an error, whatever err and the scope contained before.
 * Graphs that it calls are prepared for this run alone. */
static cfx_status enter(cfx_interp *it, surroundings *before, cfx_error *err)
{
    cfx_scope *s = it->scope;
    int depth = s->walks ? s->walks->depth + 1 : 0;
    cfx_error_clear(err);
    if (depth >= CFX_MAX_NESTED_RUNS)
        return cfx_fail(err, CFX_EGRAPH,
                        "runs are nested to a depth of more than %d",
                        CFX_MAX_NESTED_RUNS);
    cfx_status st = it->self->running ? begin_inner(it, err) : CFX_OK;
    if (st)
        return st;
    *before = (surroundings){s->walks, it->err};
    it->err = err;
    it->self->walks.depth = depth;
    s->walks = &it->self->walks;
    cfx_error_clear(&s->error);
    return CFX_OK;
}

/* An inner run reports failure by its status; the scope continues with the
 * outer run. */
static void leave(cfx_interp *it, const surroundings *before, cfx_status st)
{
    if (st && !it->self->outer)
        cfx_fail_from(&it->scope->error, it->err);
    it->scope->walks = before->walks;
    it->err = before->err;
    it->self->running = false;
    if (it->self->outer) {
        cfx_error_clear(&it->scope->error);
        end_inner(it);
    }
}

/* ---- The walk ---- */

/* Drop an error that a hook saw and did not return. An error that only the
 * scope has was seen by nobody and fails the run. In the run of a nested graph
 * both are the same error. */
CFX_NOINLINE
static cfx_status report_unseen_error(cfx_interp *it, const cfx_node *n)
{
    const cfx_error *unseen = &it->scope->error;
    if (it->err != unseen) {
        cfx_error_clear(it->err);
        if (!unseen->code)
            return CFX_OK;
        cfx_fail_from(it->err, unseen);
    }
    cfx_interp__while_executing(it, it->err, n);
    return unseen->code;
}

/* A hook that fails without a message, and the place of any failure. */
CFX_NOINLINE
static cfx_status explain(cfx_interp *it, const cfx_node *n, cfx_status st)
{
    if (it->err && !it->err->code)
        cfx_interp_fail(
            it, st,
            "a hook of interpreter class '%s' returned %s without a message",
            it->cls->name, cfx_status_name(st));
    cfx_interp__while_executing(it, it->err, n);
    return st;
}

cfx_status cfx_interp_run_node(cfx_interp *it, const cfx_node *n,
                               cfx_value *out)
{
    *out = CFX_NOTHING;
    cfx_status st = it->self->hook.run_node(it, n, out);
    return CFX_LIKELY(!st) ? CFX_OK : explain(it, n, st);
}

/* Keep the value that a step was run for. Runs that a hook began and did not end,
 * end here. */
static cfx_status keep_value(cfx_interp *it, struct cfx_interp_self *self,
                             const step *s, cfx_status st, cfx_value v)
{
    while (CFX_UNLIKELY(it->self != self))
        end_inner(it);
    if (st)
        return st;
    set_env(self, s->id, v);
    if (CFX_UNLIKELY(it->err->code || it->scope->error.code))
        return report_unseen_error(it, s->node);
    return CFX_OK;
}

/* Drop the values whose last use was this step. */
static void drop_ended(struct cfx_interp_self *self, const step *s)
{
    if (self->keep_values)
        return;
    for (uint32_t i = 0; i < s->ndrop; i++)
        set_env(self, s->drop[i], CFX_NOTHING);
}

/* End a run. After success only the result is left, unless values are kept or
 * nodes after the output still need some. */
static void end_run(struct cfx_interp_self *self, bool complete)
{
    if (self->keep_values)
        self->has_run = true;
    else if (!complete)
        clear_env(self);
    else if (self->nsteps)
        set_env(self, self->step[self->nsteps - 1].id, CFX_NOTHING);
}

/* Placeholders that have a value take no input: one value for each. */
static cfx_status gather_inputs(const struct cfx_interp_self *self,
                                const cfx_value *inputs, size_t n,
                                cfx_value **out, size_t *nout, cfx_error *err)
{
    *out = cfx_calloc(self->ctx, self->nsteps, sizeof(**out));
    *nout = 0;
    if (!*out)
        return cfx_no_memory(err);
    for (size_t i = 0, next = 0; i < self->nsteps; i++) {
        if (self->step[i].op != CFX_PLACEHOLDER)
            continue;
        cfx_value v = self->env[self->step[i].id];
        if (!v.kind && next < n)
            v = inputs[next++];
        (*out)[(*nout)++] = v;
    }
    return CFX_OK;
}

/* Compare the inputs with those that the file declares. `bound`: there is one
 * for each placeholder. */
static cfx_status check_inputs(cfx_interp *it, const cfx_value *inputs,
                               size_t n, bool bound, cfx_error *err)
{
    struct cfx_interp_self *self = it->self;
    cfx_value *all = NULL;
    cfx_status st = CFX_OK;
    if (CFX_LIKELY(!self->check))
        return CFX_OK;
    forget_last_run(self);
    if (self->sets_inputs && !bound)
        st = gather_inputs(self, inputs, n, &all, &n, err);
    if (!st)
        st = cfx_input_check_run(self->check, it->scope->env,
                                 all ? all : inputs, n, err);
    cfx_free(self->ctx, all, self->nsteps * sizeof(*all));
    return st;
}

static void start(struct cfx_interp_self *self, const cfx_value *inputs,
                  size_t n, bool bound, bool boxed)
{
    self->inputs = inputs;
    self->ninputs = n;
    self->next_input = 0;
    self->bound = bound;
    self->boxed = boxed;
    self->at = 0;
    forget_last_run(self);
    self->running = true;
}

static cfx_status walk(cfx_interp *it, cfx_value *result)
{
    struct cfx_interp_self *self = it->self;
    const cfx_node *caller = it->scope->node;
    cfx_status st = CFX_OK;
    size_t i;
    *result = cfx_none();
    for (i = 0; i < self->nsteps; i++) {
        const step *s = &self->step[i];
        if (self->env[s->id].kind == CFX_ABSENT) {
            cfx_value v = CFX_NOTHING;
            self->walking = s;
            st = cfx_context_check(self->ctx, it->err);
            if (!st && (st = self->hook.run_node(it, s->node, &v)))
                st = explain(it, s->node, st);
            if ((st = keep_value(it, self, s, st, v)))
                break;
        }
        drop_ended(self, s);
        if (s->op == CFX_OUTPUT) {
            *result = cfx_value_ref(self->env[s->id]);
            break;
        }
    }
    self->walking = NULL;
    end_run(self, !st && i + 1 >= self->nsteps);
    it->scope->node = caller;
    return st;
}

cfx_status cfx_interp__run_bound(cfx_interp *it, const cfx_value *in,
                                 cfx_value *result, cfx_error *err)
{
    it->err = err;
    start(it->self, in, it->self->params.n, true, false);
    cfx_status st = walk(it, result);
    it->self->running = false;
    it->err = NULL;
    return st;
}

/* Begin a run on inputs; with `take`, on all of them, which are dropped after
 * their last use. */
static cfx_status begin(cfx_interp *it, surroundings *before,
                        const cfx_value *inputs, size_t n, bool take,
                        cfx_error *err)
{
    cfx_status st = enter(it, before, err);
    if (st)
        return st;
    st = check_inputs(it, inputs, n, take, err);
    if (st)
        leave(it, before, st);
    else
        start(it->self, inputs, n, take, take);
    return st;
}

cfx_status cfx_interp_run(cfx_interp *it, const cfx_value *inputs,
                          size_t ninputs, cfx_value *result, cfx_error *err)
{
    cfx_error own;
    surroundings before;
    *result = cfx_none();
    cfx_status st = begin(it, &before, inputs, ninputs, false,
                          err ? err : &own);
    if (st)
        return st;
    st = walk(it, result);
    leave(it, &before, st);
    return st;
}

cfx_status cfx_interp_run_take(cfx_interp *it, cfx_value *inputs,
                               size_t ninputs, cfx_value *result,
                               cfx_error *err)
{
    cfx_error own;
    surroundings before;
    size_t want = 0;
    *result = cfx_none();
    for (size_t i = 0; i < it->self->nsteps; i++)
        want += it->self->step[i].op == CFX_PLACEHOLDER;
    if (ninputs != want) {
        cfx_error_clear(err);
        return cfx_fail(
            err, CFX_EINVAL,
            "Interpreter.boxed_run expected %zu arguments for placeholders but received %zu (%s)",
            want, ninputs,
            ninputs > want ? "extra arguments" : "missing arguments");
    }
    cfx_status st = begin(it, &before, inputs, ninputs, true,
                          err ? err : &own);
    if (!st) {
        st = walk(it, result);
        leave(it, &before, st);
    }
    for (size_t i = 0; i < ninputs; i++) {
        cfx_value_unref(inputs[i]);
        inputs[i] = CFX_NOTHING;
    }
    return st;
}

/* ---- Stepping ---- */

cfx_status cfx_interp_begin(cfx_interp *it, const cfx_value *inputs,
                            size_t ninputs, cfx_error *err)
{
    cfx_error_clear(err);
    cfx_status st = it->self->running ? begin_inner(it, err) : CFX_OK;
    if (st)
        return st;
    cfx_error_clear(&it->scope->error);
    st = check_inputs(it, inputs, ninputs, false, err);
    start(it->self, inputs, ninputs, false, false);
    it->self->stepped = true;
    return st ? st : cfx_context_check(it->self->ctx, err);
}

static cfx_status make_next(cfx_interp *it, const step *s, cfx_error *err)
{
    struct cfx_interp_self *self = it->self;
    const surroundings before = {it->scope->walks, it->err};
    const cfx_node *caller = it->scope->node;
    cfx_value v = CFX_NOTHING;
    it->err = err;
    self->walks.depth = before.walks ? before.walks->depth + 1 : 0;
    it->scope->walks = &self->walks;
    self->walking = s;
    cfx_status st = cfx_context_check(self->ctx, err);
    if (!st)
        st = cfx_interp_run_node(it, s->node, &v);
    st = keep_value(it, self, s, st, v);
    it->scope->walks = before.walks;
    it->scope->node = caller;
    it->err = before.err;
    self->walking = NULL;
    return st;
}

/* Drop the previous step's last uses, which the caller could read until now. */
cfx_status cfx_interp_step(cfx_interp *it, const cfx_node **n,
                           cfx_value *value, cfx_error *err)
{
    struct cfx_interp_self *self = it->self;
    const step *last = self->at ? &self->step[self->at - 1] : NULL;
    cfx_error own;
    *n = NULL;
    *value = CFX_NOTHING;
    cfx_error_clear(err ? err : &own);
    if (last)
        drop_ended(self, last);
    if (self->at == self->nsteps || (last && last->op == CFX_OUTPUT))
        return CFX_OK;
    const step *s = &self->step[self->at++];
    cfx_status st = self->env[s->id].kind ? CFX_OK
                                          : make_next(it, s, err ? err : &own);
    if (st)
        return st;
    *n = s->node;
    *value = self->env[s->id];
    return CFX_OK;
}

void cfx_interp_end(cfx_interp *it, cfx_value *result)
{
    struct cfx_interp_self *self = it->self;
    const step *last = self->at ? &self->step[self->at - 1] : NULL;
    *result = cfx_none();
    if (!self->stepped)
        return;
    if (last && last->op == CFX_OUTPUT && self->env[last->id].kind)
        *result = cfx_value_ref(self->env[last->id]);
    self->running = self->stepped = false;
    self->at = 0;
    if (self->outer)
        end_inner(it);
    else if (self->keep_values)
        self->has_run = true;
    else
        clear_env(self);
}
