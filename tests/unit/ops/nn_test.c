/*
 * nn_test -- modules and their types, beside what they compute: state,
 * parametrizations, names.
 */
#include <stdlib.h>
#include <string.h>

#include <cfx/graph_module.h>
#include <cfx/text.h>

#include "nn/module_impl.h"
#include "tests/unit/unit.h"

static cfx_context *ctx;
static cfx_error err;

static void setup(void)
{
    err = (cfx_error){0};
    ck_assert_int_eq(cfx_context_new(&ctx, NULL, &err), CFX_OK);
}

static void teardown(void)
{
    cfx_context_free(ctx);
}

static cfx_module *container(void)
{
    cfx_module *m;
    ck_assert_int_eq(cfx_module_new_container(&m, ctx, "Net", &err), CFX_OK);
    return m;
}

static void add_state(cfx_module *m, const char *name, bool is_buffer,
                      bool persistent)
{
    const cfx_state s = {name, NULL, is_buffer, persistent};
    ck_assert_int_eq(cfx_module__add_state(m, &s, &err), CFX_OK);
}

static void assert_state(const cfx_module *m, const char *name, bool is_buffer,
                         bool persistent)
{
    const cfx_state *s = cfx_module_state(m, name);
    ck_assert_ptr_nonnull(s);
    ck_assert_int_eq(s->is_buffer, is_buffer);
    ck_assert_int_eq(s->persistent, persistent);
}

TEST_CASE(state_of_a_name_is_replaced_and_no_other)
{
    cfx_module *m = container();
    add_state(m, "a", false, true);
    add_state(m, "b", true, true);
    add_state(m, "a", true, false);
    ck_assert_uint_eq(cfx_module_nstate(m), 2);
    assert_state(m, "a", true, false);
    assert_state(m, "b", true, true);
    cfx_module_unref(m);
}

static char seen[512];

static cfx_status see_call_module(cfx_scope *s, cfx_module *m,
                                  const char *path, const cfx_value *in,
                                  cfx_value *out)
{
    (void)s;
    (void)m;
    (void)in;
    snprintf(seen, sizeof(seen), "%s", path);
    *out = cfx_int(7);
    return CFX_OK;
}

TEST_CASE(parametrizations_are_called_by_their_whole_path)
{
    char name[201], want[256];
    cfx_scope_class seeing = cfx_eager_class;
    cfx_module *m = container(), *all = container(), *list;
    cfx_scope s;
    memset(name, 'n', 200);
    name[200] = '\0';
    snprintf(want, sizeof(want), "parametrizations.%s", name);
    ck_assert_int_eq(cfx_module_new(&list, ctx,
                                    &cfx_module__ParametrizationList, NULL,
                                    CFX_NO_ARGS, &err),
                     CFX_OK);
    ck_assert_int_eq(cfx_module_add_take(all, name, list, &err), CFX_OK);
    ck_assert_int_eq(cfx_module_add_take(m, "parametrizations", all, &err),
                     CFX_OK);
    seeing.call_module = see_call_module;
    cfx_scope_init(&s, &seeing, ctx, NULL);
    ck_assert_int_eq(cfx_param_of(&s, m, name).u.i, 7);
    ck_assert_str_eq(seen, want);
    cfx_scope_release(&s);
    cfx_module_unref(m);
}

TEST_CASE(only_texts_name_parametrized_types)
{
    static const char text[] =
        "Net(\n"
        "  (m): ParametrizedLinear(\n"
        "    in_features=4, out_features=3, bias=True\n"
        "    (parametrizations): ModuleDict(\n"
        "      (weight): ParametrizationList(\n"
        "        (0): _WeightNorm()\n"
        "      )\n"
        "    )\n"
        "  )\n"
        ")\n\n"
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    return x\n";
    const cfx_module_type *linear = cfx_find_module_type(ctx, "Linear"), *t;
    cfx_module *gm;
    ck_assert_ptr_null(cfx_find_module_type(ctx, "ParametrizedLinear"));
    ck_assert_int_eq(
        cfx_module_type__find(&t, ctx, "ParametrizedLinear", &err), CFX_ENAME);
    ck_assert_str_eq(err.text, "the module type ParametrizedLinear is "
                               "unknown");
    ck_assert_msg(
        !cfx_parse_model(&gm, ctx, text, strlen(text), "net", &(cfx_error){0}),
        "it is not read");
    const cfx_module *m = cfx_module_child(gm, "m");
    ck_assert_ptr_eq(cfx_module_type_of(m), linear);
    ck_assert_str_eq(cfx_module_class_name(m), "ParametrizedLinear");
    cfx_module_unref(gm);
}

TEST_SUITE(nn, .setup = setup, .teardown = teardown)
