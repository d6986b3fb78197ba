/*
 * node -- edits of one node.
 *
 * An edit of arguments puts the new ones in place, finds the inputs they name,
 * and either makes these the node's inputs and drops what was replaced, or
 * puts the old ones back.
 */
#include "graph/graph_impl.h"

#include <stdio.h>

#include "base/unicode.h"

/* ---- Helpers ---- */

static cfx_status check_live(const cfx_node *n, cfx_error *err)
{
    return n->erased ? cfx_fail(err, CFX_EGRAPH,
                                "Node '%s' was erased from its Graph", n->name)
                     : CFX_OK;
}

static cfx_store *store_of(cfx_node *n)
{
    return &n->graph->store;
}

static cfx_args_copy copy_for(cfx_node *n)
{
    return (cfx_args_copy){.g = n->graph, .of = n->name};
}

static cfx_status copy_arg(cfx_node *n, cfx_value *out, cfx_value v,
                           cfx_error *err)
{
    cfx_args_copy to = copy_for(n);
    cfx_value *one = NULL;
    cfx_status st = cfx_graph__copy_args(&to, &one, &v, 1, err);
    if (st)
        return st;
    *out = *one;
    cfx_store_free(store_of(n), one, sizeof(*one));
    return CFX_OK;
}

static cfx_status update_inputs(cfx_node *n, cfx_error *err)
{
    cfx_use *inputs;
    cfx_status st = cfx_graph__find_inputs(n, false, &inputs, err);
    if (!st)
        cfx_graph__take_inputs(n, inputs);
    return st;
}

void cfx_node__drop_args(cfx_node *n)
{
    cfx_store *store = store_of(n);
    cfx_graph__drop_inputs(n);
    cfx_store_drop_array(store, n->args, n->nargs);
    cfx_store_drop_array(store, n->kwargs, 2 * (size_t)n->nkwargs);
    n->args = n->kwargs = NULL;
    n->nargs = n->nkwargs = 0;
}

/* Put `v` at *place, which is among the arguments. Takes v. */
static cfx_status replace_value(cfx_node *n, cfx_value *place, cfx_value v,
                                cfx_error *err)
{
    cfx_value old = *place;
    *place = v;
    cfx_status st = update_inputs(n, err);
    if (st)
        *place = old;
    cfx_store_drop(store_of(n), st ? v : old);
    return st;
}

/* ---- Arguments ---- */

cfx_status cfx_node_set_args(cfx_node *n, const cfx_value *args, size_t nargs,
                             cfx_error *err)
{
    cfx_args_copy to = copy_for(n);
    cfx_value *old = n->args, *fresh;
    uint32_t nold = n->nargs;
    cfx_status st = check_live(n, err);
    if (!st)
        st = cfx_graph__copy_args(&to, &fresh, args, nargs, err);
    if (st)
        return st;
    n->args = fresh;
    n->nargs = (uint32_t)nargs;
    st = update_inputs(n, err);
    if (st) {
        n->args = old;
        n->nargs = nold;
        cfx_store_drop_array(store_of(n), fresh, nargs);
    } else {
        cfx_store_drop_array(store_of(n), old, nold);
    }
    return st;
}

cfx_status cfx_node_set_kwargs(cfx_node *n, const cfx_value *kwargs,
                               size_t nkwargs, cfx_error *err)
{
    cfx_args_copy to = copy_for(n);
    cfx_value *old = n->kwargs, *fresh;
    uint16_t nold = n->nkwargs;
    cfx_status st = check_live(n, err);
    if (!st)
        st = cfx_graph__copy_kwargs(&to, &fresh, kwargs, nkwargs, err);
    if (st)
        return st;
    n->kwargs = fresh;
    n->nkwargs = (uint16_t)nkwargs;
    st = update_inputs(n, err);
    if (st) {
        n->kwargs = old;
        n->nkwargs = nold;
        cfx_store_drop_array(store_of(n), fresh, 2 * nkwargs);
    } else {
        cfx_store_drop_array(store_of(n), old, 2 * (size_t)nold);
    }
    return st;
}

cfx_status cfx_node_update_arg(cfx_node *n, size_t i, cfx_value v,
                               cfx_error *err)
{
    cfx_value fresh;
    cfx_status st = check_live(n, err);
    if (!st && i >= n->nargs)
        st = cfx_fail(err, CFX_EINVAL,
                      "Node '%s' has %u arguments, there is no argument %zu",
                      n->name, n->nargs, i);
    if (!st)
        st = copy_arg(n, &fresh, v, err);
    return st ? st : replace_value(n, &n->args[i], fresh, err);
}

/* A shallow copy of an array with a gap of `more` values at `at`. */
static cfx_value *widen(cfx_store *store, const cfx_value *old, size_t n,
                        size_t at, size_t more)
{
    cfx_value *wide = cfx_store_alloc(store, (n + more) * sizeof(*wide));
    if (!wide)
        return NULL;
    if (at)
        memcpy(wide, old, at * sizeof(*wide));
    if (n > at)
        memcpy(wide + at + more, old + at, (n - at) * sizeof(*wide));
    return wide;
}

cfx_status cfx_node_insert_arg(cfx_node *n, size_t i, cfx_value v,
                               cfx_error *err)
{
    cfx_value fresh;
    cfx_status st = check_live(n, err);
    if (!st && i > n->nargs)
        st = cfx_fail(
            err, CFX_EINVAL,
            "insert_args index must be between 0 and len(self.args), got %zu",
            i);
    if (!st)
        st = copy_arg(n, &fresh, v, err);
    if (st)
        return st;
    cfx_store *store = store_of(n);
    cfx_value *old = n->args;
    cfx_value *wide = widen(store, old, n->nargs, i, 1);
    if (!wide) {
        cfx_store_drop(store, fresh);
        return cfx_no_memory(err);
    }
    wide[i] = fresh;
    n->args = wide;
    n->nargs++;
    cfx_use *inputs;
    st = cfx_graph__find_inputs(n, true, &inputs, err);
    if (st) {
        n->args = old;
        n->nargs--;
        cfx_store_free(store, wide, (n->nargs + 1) * sizeof(*wide));
        cfx_store_drop(store, fresh);
        return st;
    }
    cfx_graph__add_inputs(n, inputs);
    cfx_store_free(store, old, (n->nargs - 1) * sizeof(*old));
    return CFX_OK;
}

/* Append a keyword. Takes both. */
static cfx_status append_kwarg(cfx_node *n, cfx_value key, cfx_value v,
                               cfx_error *err)
{
    cfx_store *store = store_of(n);
    size_t count = 2 * (size_t)n->nkwargs;
    cfx_value *old = n->kwargs;
    cfx_value *wide = NULL;
    cfx_status st = cfx_graph__check_nkwargs(n->nkwargs + (size_t)1, err);
    if (!st) {
        wide = widen(store, old, count, count, 2);
        st = wide ? CFX_OK : cfx_no_memory(err);
    }
    if (wide) {
        wide[count] = key;
        wide[count + 1] = v;
        n->kwargs = wide;
        n->nkwargs++;
        st = update_inputs(n, err);
        if (!st) {
            cfx_store_free(store, old, count * sizeof(*old));
            return CFX_OK;
        }
        n->kwargs = old;
        n->nkwargs--;
        cfx_store_free(store, wide, (count + 2) * sizeof(*wide));
    }
    cfx_store_drop(store, v);
    cfx_store_drop(store, key);
    return st;
}

cfx_status cfx_node_update_kwarg(cfx_node *n, const char *key, cfx_value v,
                                 cfx_error *err)
{
    cfx_value fresh, name;
    cfx_status st = check_live(n, err);
    if (!st)
        st = cfx_check_name(key, err);
    if (!st)
        st = copy_arg(n, &fresh, v, err);
    if (st)
        return st;
    for (uint32_t i = 0; i < n->nkwargs; i++)
        if (!strcmp(n->kwargs[2 * i].u.str->text, key))
            return replace_value(n, &n->kwargs[2 * i + 1], fresh, err);
    st = cfx_store_text(store_of(n), &name, CFX_STR, key, strlen(key), err);
    if (!st)
        return append_kwarg(n, name, fresh, err);
    cfx_store_drop(store_of(n), fresh);
    return st;
}

/* ---- Target, type, name ---- */

static cfx_status text_for(cfx_node *n, cfx_string **out, const char *text,
                           cfx_error *err)
{
    cfx_status st = check_live(n, err);
    if (!st)
        st = cfx_check_name(text, err);
    return st ? st
              : cfx_store_string(store_of(n), out, text, strlen(text), err);
}

cfx_status cfx_node_set_op(cfx_node *n, cfx_opcode op, const char *target,
                           cfx_error *err)
{
    cfx_string *fresh;
    if ((unsigned)op >= CFX_NOPCODES)
        return cfx_fail(err, CFX_EINVAL, "%d is not an opcode", (int)op);
    if (!target || !*target)
        return cfx_fail(err, CFX_EINVAL, "a %s needs a target",
                        cfx_opcode_names[op]);
    cfx_status st = text_for(n, &fresh, target, err);
    if (st)
        return st;
    cfx_store_drop_string(store_of(n), n->target);
    n->target = fresh;
    n->op = (uint8_t)op;
    cfx_graph__forget_effects(n->graph);
    return CFX_OK;
}

cfx_status cfx_node_set_target(cfx_node *n, const char *target, cfx_error *err)
{
    return cfx_node_set_op(n, (cfx_opcode)n->op, target, err);
}

cfx_status cfx_node_set_type(cfx_node *n, const char *type, cfx_error *err)
{
    cfx_string *fresh = NULL;
    cfx_status st = type ? text_for(n, &fresh, type, err) : check_live(n, err);
    if (st)
        return st;
    cfx_store_drop_string(store_of(n), n->type);
    n->type = fresh;
    return CFX_OK;
}

/* Hooks are called before the change. */
static void take_name(cfx_node *n, const char *name)
{
    *cfx_names_user(name) = n;
    if (n->graph->hooks)
        for (const cfx_use *u = n->first_user; u; u = u->next)
            cfx_graph__call_hooks(CFX_REPLACED, n, NULL, name, u->user);
    n->name = name;
}

/* The old name stays taken, as in torch.fx. */
cfx_status cfx_node_rename(cfx_node *n, const char *candidate, cfx_error *err)
{
    cfx_status st = check_live(n, err);
    if (st || !strcmp(n->name, candidate))
        return st;
    const char *name = cfx_names_create(&n->graph->names, candidate,
                                        strlen(candidate), false);
    if (!name)
        return cfx_no_memory(err);
    *cfx_names_user(n->name) = NULL;
    take_name(n, name);
    return CFX_OK;
}

cfx_status cfx_graph__rename_new(cfx_node *n, const char *candidate,
                                 cfx_error *err)
{
    cfx_status st = check_live(n, err);
    if (st || !strcmp(n->name, candidate))
        return st;
    const char *name = cfx_names_replace(&n->graph->names, n->name, candidate,
                                         strlen(candidate));
    if (!name)
        return cfx_no_memory(err);
    take_name(n, name);
    return CFX_OK;
}

void cfx_node__take_free_name(cfx_node *n, const char *name)
{
    const char *used = cfx_names_find(&n->graph->names, name);
    if (!used || *cfx_names_user(used))
        return;
    *cfx_names_user(n->name) = NULL;
    take_name(n, used);
}

/* ---- Inputs and users ---- */

static cfx_status check_replacement(const cfx_node *n, const cfx_node *with,
                                    cfx_error *err)
{
    cfx_status st = check_live(n, err);
    return st ? st : cfx_graph__check_input(n->graph, with, n->name, err);
}

cfx_status cfx_node_replace_input_with(cfx_node *n, cfx_node *old,
                                       cfx_node *with, cfx_error *err)
{
    cfx_status st = check_replacement(n, with, err);
    if (st)
        return st;
    cfx_graph__tell_replaced(old, with, n);
    cfx_graph__swap_input(n, old, with);
    return CFX_OK;
}

/* Copy all meta of a node to one that has none. */
static cfx_status copy_all_meta(cfx_node *with, const cfx_node *n,
                                cfx_error *err)
{
    cfx_args_copy to = copy_for(with);
    if (with->meta.kind == CFX_DICT)
        return cfx_fail(
            err, CFX_EINVAL,
            "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already has .meta keys");
    return n->meta.kind == CFX_DICT
               ? cfx_graph__copy_meta(&to, &with->meta, n->meta, err)
               : CFX_OK;
}

cfx_status cfx_node_replace_all_uses(cfx_node *n, cfx_node *with,
                                     const cfx_replace_options *o,
                                     size_t *nchanged, cfx_error *err)
{
    static const cfx_replace_options none = {.size = sizeof(none)};
    size_t count = 0;
    if (!o)
        o = &none;
    cfx_status st = check_replacement(n, with, err);
    if (!st && o->propagate_meta)
        st = copy_all_meta(with, n, err);
    if (st)
        return st;
    /* Users of n that is replaced by itself are appended again. */
    uint32_t left = n->nusers;
    for (cfx_use *use = n->first_user, *next; left > 0; use = next, left--) {
        cfx_node *user = use->user;
        next = use->next;
        if (o->keep && !o->keep(o->data, user))
            continue;
        cfx_graph__tell_replaced(n, with, user);
        cfx_graph__swap_input(user, n, with);
        count++;
        if (o->changed)
            o->changed(o->data, user);
    }
    if (nchanged)
        *nchanged = count;
    return CFX_OK;
}

cfx_status cfx_node_replace_all_uses_with(cfx_node *n, cfx_node *with,
                                          bool (*keep)(void *data,
                                                       cfx_node *user),
                                          void *data, cfx_error *err)
{
    const cfx_replace_options o = {
        .size = sizeof(o),
        .keep = keep,
        .data = data,
    };
    return cfx_node_replace_all_uses(n, with, &o, NULL, err);
}

/* ---- Position ---- */

static cfx_status move(cfx_node *n, cfx_node *x, bool after, cfx_error *err)
{
    if (x->graph != n->graph)
        return cfx_fail(err, CFX_EGRAPH,
                        "Attempting to move a Node into a different Graph");
    cfx_status st = check_live(n, err);
    if (!st)
        st = check_live(x, err);
    if (st || n == x)
        return st;
    cfx_graph__unlink(x);
    cfx_graph__link(x, n, after);
    return CFX_OK;
}

cfx_status cfx_node_prepend(cfx_node *n, cfx_node *x, cfx_error *err)
{
    if (n == x)
        cfx_message(
            n->graph->ctx, CFX_WARNING,
            "Trying to prepend a node to itself. This behavior has no effect on the graph.");
    return move(n, x, false, err);
}

cfx_status cfx_node_append(cfx_node *n, cfx_node *x, cfx_error *err)
{
    return move(n, x, true, err);
}

/* "Tried to erase Node x but it still had 2 users in the graph: {a: None, ..."
 * as Python prints a dict of users. */
static cfx_status refuse_to_erase(const cfx_node *n, cfx_error *err)
{
    char users[CFX_ERROR_TEXT - 512];
    size_t len = 0;
    for (const cfx_use *u = n->first_user; u; u = u->next) {
        size_t size = strlen(u->user->name) + sizeof(": None, ");
        if (len + size > sizeof(users) - sizeof("...")) {
            memcpy(users + len, "...", sizeof("..."));
            break;
        }
        len += (size_t)snprintf(users + len, size, "%s: None%s", u->user->name,
                                u->next ? ", " : "");
    }
    return cfx_fail(
        err, CFX_EGRAPH,
        "Tried to erase Node %s but it still had %u users in the graph: {%s}!",
        n->name, n->nusers, users);
}

cfx_status cfx_graph_erase_node(cfx_graph *g, cfx_node *n, cfx_error *err)
{
    if (n->first_user)
        return refuse_to_erase(n, err);
    if (n->graph != g)
        return cfx_fail(err, CFX_EGRAPH,
                        "Attempting to remove %s from wrong graph!", n->name);
    if (n->erased) {
        cfx_message(g->ctx, CFX_WARNING,
                    "erase_node(%s) on an already erased node", n->name);
        return CFX_OK;
    }
    cfx_graph__tell(CFX_ERASED, n);
    cfx_graph__unlink(n);
    n->erased = true;
    g->len--;
    *cfx_names_user(n->name) = NULL;
    cfx_node__drop_args(n);
    return CFX_OK;
}
