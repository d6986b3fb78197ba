/*
 * value_test -- values: made, counted, compared, walked; floats as text.
 */
#include "tests/unit/base/tensor_test.h"

#include <float.h>
#include <locale.h>

#include <cfx/value.h>

#include "tests/unit/unit.h"

/* ---- Short ways to say things ---- */

static cfx_value str(const char *text)
{
    return cfx_str_new(ctx, text, strlen(text));
}

/* A list of one item, whose reference it takes over. */
static cfx_value list_of_take(cfx_value item)
{
    cfx_value list = cfx_list_new(ctx, 1, &item);

    cfx_value_unref(item);
    return list;
}

static cfx_value nested(int depth)
{
    cfx_value v = cfx_int(depth);

    for (int i = 0; i < depth; i++)
        v = list_of_take(v);
    return v;
}

static void assert_equal(cfx_value a, cfx_value b, bool expected)
{
    ck_assert_int_eq(cfx_value_equal(a, b), expected);
    ck_assert_int_eq(cfx_value_equal(b, a), expected);
}

/* Gives (1, [2, True, "x"], {"k": 3.5, "l": slice(None, 4, None)}). */
static cfx_value sample(void)
{
    cfx_value x = str("x"), k = str("k"), l = str("l");
    cfx_value list = cfx_list_new(
        ctx, 3, (cfx_value[]){cfx_int(2), cfx_bool(true), x});
    cfx_value slice = cfx_seq_new(
        ctx, CFX_SLICE, 3, (cfx_value[]){cfx_none(), cfx_int(4), cfx_none()},
        NULL);
    cfx_value dict = cfx_dict_new(ctx, 2,
                                  (cfx_value[]){k, cfx_float(3.5), l, slice});
    cfx_value v = cfx_tuple_new(ctx, 3, (cfx_value[]){cfx_int(1), list, dict});

    cfx_value_unref(x);
    cfx_value_unref(k);
    cfx_value_unref(l);
    cfx_value_unref(list);
    cfx_value_unref(slice);
    cfx_value_unref(dict);
    return v;
}

/* ---- Objects ---- */

TEST_CASE(kinds_have_names_of_their_own)
{
    for (int i = 0; i < CFX_NKINDS; i++) {
        const char *name = cfx_kind_name((cfx_kind)i);
        ck_assert_ptr_nonnull(name);
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(name, cfx_kind_name((cfx_kind)k));
    }
    ck_assert_str_eq(cfx_kind_name(CFX_TENSOR), "Tensor");
    ck_assert_str_eq(cfx_kind_name(CFX_INT), "int");
    ck_assert_str_eq(cfx_kind_name((cfx_kind)99), "unknown");
}

TEST_CASE(strings_may_hold_nul_and_end_in_one)
{
    cfx_value s = cfx_str_new(ctx, "a\0b", 3);

    ck_assert_uint_eq(s.u.str->len, 3);
    ck_assert(!memcmp(s.u.str->text, "a\0b", 4));
    cfx_value other = cfx_str_new(ctx, "a\0c", 3);
    assert_equal(s, other, false);
    cfx_value_unref(s);
    cfx_value_unref(other);
    s = cfx_str_new(ctx, NULL, 0);
    ck_assert_str_eq(s.u.str->text, "");
    cfx_value_unref(s);
}

TEST_CASE(items_are_shared_and_given_back_with_the_whole)
{
    cfx_tensor *t = new_tensor(CFX_F32, "3");
    cfx_value v = cfx_value_of_tensor(t);
    cfx_value tuple = cfx_tuple_new(ctx, 2, (cfx_value[]){v, v});

    ck_assert_int_eq(t->refs, 3);
    cfx_value again = cfx_value_ref(tuple);
    cfx_value_unref(tuple);
    ck_assert_int_eq(t->refs, 3);
    cfx_value_unref(again);
    ck_assert_int_eq(t->refs, 1);
    cfx_value_unref(v);
}

TEST_CASE(numbers_need_no_counting)
{
    static const cfx_value values[] = {
        {.kind = CFX_ABSENT},        {.kind = CFX_NONE},
        {.kind = CFX_INT, .u.i = 1}, {.kind = CFX_NODE},
        {.kind = CFX_MODULE},        {.kind = CFX_ELLIPSIS},
        {.kind = CFX_DTYPE},         {.kind = CFX_FLOAT},
    };

    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        cfx_value_unref(cfx_value_ref(values[i]));
}

TEST_CASE(objects_of_an_arena_are_not_counted)
{
    static _Alignas(cfx_seq) char arena[sizeof(cfx_seq) + sizeof(cfx_value)];
    cfx_seq *seq = (void *)arena;
    cfx_value v = {.kind = CFX_LIST, .u.seq = seq};

    seq->len = 1;
    seq->item[0] = cfx_int(1);
    cfx_value_ref(v);
    ck_assert_int_eq(seq->refs, 0);
    cfx_value list = cfx_list_new(ctx, 1, &v);
    ck_assert_int_eq(seq->refs, 0);
    cfx_value_unref(list);
    cfx_value_unref(v);
    cfx_value_unref(v);
    ck_assert_int_eq(seq->refs, 0);
}

TEST_CASE(dict_is_read_by_key)
{
    cfx_value v = sample(), dict = v.u.seq->item[2];

    ck_assert(cfx_dict_get(dict, "k").u.f == 3.5);
    ck_assert_int_eq(cfx_dict_get(dict, "l").kind, CFX_SLICE);
    ck_assert(cfx_value_is_absent(cfx_dict_get(dict, "m")));
    ck_assert(cfx_value_is_absent(cfx_dict_get(dict, "")));
    ck_assert(cfx_value_is_absent(cfx_dict_get(cfx_int(1), "k")));
    cfx_value_unref(v);
}

TEST_CASE(nesting_ends_at_the_limit)
{
    cfx_value v = nested(CFX_MAX_DEPTH), copy = nested(CFX_MAX_DEPTH);

    ck_assert(!cfx_value_is_absent(v));
    assert_equal(v, copy, true);
    ck_assert(cfx_value_is_absent(cfx_list_new(ctx, 1, &v)));
    cfx_value_unref(v);
    cfx_value_unref(copy);
}

/* Links made by hand, as an arena's are, tell nothing of their depth. */
TEST_CASE(unref_needs_no_stack_for_any_depth)
{
    cfx_value v = cfx_int(1);

    for (int i = 0; i < 300000; i++) {
        v = list_of_take(v);
        v.flags = 0;
    }
    cfx_value_unref(v);
}

static cfx_status count(void *user, cfx_value v)
{
    (void)v;
    ++*(int *)user;
    return CFX_OK;
}

static bool is_negative(void *user, cfx_value v)
{
    ++*(int *)user;
    return v.kind == CFX_FLOAT && v.u.f < 0;
}

static cfx_status same(void *user, cfx_value v, cfx_value *out)
{
    (void)user;
    *out = cfx_value_ref(v);
    return CFX_OK;
}

TEST_CASE(walks_refuse_what_is_too_deep)
{
    cfx_value v = cfx_int(1), out;
    int n = 0;

    for (int i = 0; i < 1000; i++) {
        v = list_of_take(v);
        v.flags = 0;
    }
    ck_assert_int_eq(cfx_value_visit(v, count, &n), CFX_EINVAL);
    ck_assert(cfx_value_any(v, is_negative, &n));
    ck_assert_int_eq(n, 0);
    assert_fails(cfx_value_map(&out, ctx, v, same, NULL, &err), CFX_EINVAL,
                 "values are nested deeper than 64");
    ck_assert(cfx_value_is_absent(out));
    ck_assert(cfx_value_equal(v, v));
    cfx_value_unref(v);
}

/* ---- Equality ---- */

TEST_CASE(equal_keeps_kinds_apart)
{
    cfx_value one[] = {
        cfx_int(1),
        cfx_float(1),
        cfx_bool(true),
        cfx_none(),
        CFX_NOTHING,
        cfx_ellipsis(),
        cfx_value_of_dtype((cfx_dtype)1),
        cfx_value_of_format((cfx_memory_format)1),
    };
    size_t n = sizeof one / sizeof *one;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            assert_equal(one[i], one[k], i == k);
}

TEST_CASE(equal_compares_floats_by_their_bits)
{
    assert_equal(cfx_float(NAN), cfx_float(-NAN), true);
    assert_equal(cfx_float(0.0), cfx_float(-0.0), false);
    assert_equal(cfx_float(0.1), cfx_float(0.1), true);
    assert_equal(cfx_float(0.1), cfx_float(nextafter(0.1, 1)), false);
}

TEST_CASE(equal_compares_contents)
{
    cfx_value a = sample(), b = sample();
    cfx_value list = a.u.seq->item[1];
    cfx_value tuple = cfx_tuple_new(ctx, list.u.seq->len, list.u.seq->item);
    cfx_value less = cfx_list_new(ctx, 2, list.u.seq->item);
    cfx_value none = cfx_list_new(ctx, 0, NULL);
    cfx_value empty = cfx_list_new(ctx, 0, NULL);

    assert_equal(a, b, true);
    assert_equal(list, b.u.seq->item[1], true);
    assert_equal(list, tuple, false);
    assert_equal(list, less, false);
    assert_equal(none, empty, true);
    assert_equal(none, less, false);
    cfx_value_unref(a);
    cfx_value_unref(b);
    cfx_value_unref(tuple);
    cfx_value_unref(less);
    cfx_value_unref(none);
    cfx_value_unref(empty);
}

TEST_CASE(equal_tells_named_tuples_by_their_type)
{
    static const cfx_named_tuple max = {"torch.return_types.max",
                                        "values indices"};
    cfx_named_tuple other = {"torch.return_types.max", "values indices"};
    cfx_named_tuple sort = {"torch.return_types.sort", "values indices"};
    cfx_value items[] = {cfx_int(1), cfx_int(2)}, v[4];

    v[0] = cfx_seq_new(ctx, CFX_TUPLE, 2, items, &max);
    v[1] = cfx_seq_new(ctx, CFX_TUPLE, 2, items, &other);
    v[2] = cfx_seq_new(ctx, CFX_TUPLE, 2, items, &sort);
    v[3] = cfx_tuple_new(ctx, 2, items);
    assert_equal(v[0], v[1], true);
    assert_equal(v[0], v[2], false);
    assert_equal(v[0], v[3], false);
    for (int i = 0; i < 4; i++)
        cfx_value_unref(v[i]);
}

TEST_CASE(equal_tells_tensors_by_identity)
{
    cfx_tensor *a = new_tensor(CFX_F32, "2"), *b = new_tensor(CFX_F32, "2");

    memset(a->data, 0, 8);
    memset(b->data, 0, 8);
    assert_equal(cfx_value_of_tensor(a), cfx_value_of_tensor(a), true);
    assert_equal(cfx_value_of_tensor(a), cfx_value_of_tensor(b), false);
    cfx_tensor_unref(a);
    cfx_tensor_unref(b);
}

/* ---- Walks ---- */

static cfx_status write_kind(void *user, cfx_value v)
{
    char *s = user;

    if (v.kind == CFX_FLOAT && v.u.f < 0)
        return CFX_EUSER;
    strcat(s, cfx_kind_name((cfx_kind)v.kind));
    strcat(s, " ");
    return CFX_OK;
}

TEST_CASE(visit_goes_depth_first_and_leaves_keys_out)
{
    char kinds[256] = "";
    cfx_value v = sample();

    ck_assert_int_eq(cfx_value_visit(v, write_kind, kinds), CFX_OK);
    ck_assert_str_eq(kinds, "int int bool str float None int None ");
    cfx_value_unref(v);

    *kinds = 0;
    ck_assert_int_eq(cfx_value_visit(cfx_int(1), write_kind, kinds), CFX_OK);
    ck_assert_str_eq(kinds, "int ");

    *kinds = 0;
    v = cfx_tuple_new(ctx, 0, NULL);
    ck_assert_int_eq(cfx_value_visit(v, write_kind, kinds), CFX_OK);
    ck_assert_str_eq(kinds, "");
    cfx_value_unref(v);
}

TEST_CASE(visit_stops_at_the_first_failure)
{
    char kinds[256] = "";
    cfx_value items[] = {cfx_int(1), cfx_float(-1), cfx_int(2)};
    cfx_value v = cfx_list_new(ctx, 3, items);

    ck_assert_int_eq(cfx_value_visit(v, write_kind, kinds), CFX_EUSER);
    ck_assert_str_eq(kinds, "int ");
    cfx_value_unref(v);
}

TEST_CASE(any_is_asked_until_one_holds)
{
    cfx_value items[] = {cfx_int(1), cfx_float(-1), cfx_int(2)};
    cfx_value v = cfx_list_new(ctx, 3, items), w = cfx_list_new(ctx, 1, items);
    int asked = 0;

    ck_assert(cfx_value_any(v, is_negative, &asked));
    ck_assert_int_eq(asked, 2);
    ck_assert(!cfx_value_any(w, is_negative, &asked));
    cfx_value empty = cfx_tuple_new(ctx, 0, NULL);
    ck_assert(!cfx_value_any(empty, is_negative, &asked));
    ck_assert_int_eq(asked, 3);
    cfx_value_unref(v);
    cfx_value_unref(w);
    cfx_value_unref(empty);
}

TEST_CASE(visit_takes_complex_numbers_as_one)
{
    char kinds[64] = "";
    cfx_value parts[] = {cfx_float(1), cfx_float(2)};
    cfx_value v = cfx_seq_new(ctx, CFX_COMPLEX, 2, parts, NULL);

    ck_assert_int_eq(cfx_value_visit(v, write_kind, kinds), CFX_OK);
    ck_assert_str_eq(kinds, "complex ");
    cfx_value_unref(v);
}

TEST_CASE(map_shares_what_does_not_change)
{
    cfx_value v = sample(), out;

    ck_assert_int_eq(cfx_value_map(&out, ctx, v, same, NULL, &err), CFX_OK);
    ck_assert_ptr_eq(out.u.seq, v.u.seq);
    ck_assert_int_eq(v.u.seq->refs, 2);
    cfx_value_unref(out);
    cfx_value_unref(v);
}

/* Ints become strings, but 4, at which it fails where it is told to. */
static cfx_status spell(void *user, cfx_value v, cfx_value *out)
{
    if (v.kind != CFX_INT)
        return same(NULL, v, out);
    if (user && v.u.i == 4)
        return CFX_EUSER;
    *out = str(v.u.i == 2 ? "two" : "other");
    return cfx_value_is_absent(*out) ? CFX_ENOMEM : CFX_OK;
}

TEST_CASE(map_copies_what_changes)
{
    cfx_value v = sample(), out, before = sample();
    cfx_value items[3];

    ck_assert_int_eq(cfx_value_map(&out, ctx, v, spell, NULL, &err), CFX_OK);
    assert_equal(v, before, true);
    ck_assert_int_eq(out.kind, CFX_TUPLE);
    memcpy(items, out.u.seq->item, sizeof items);
    ck_assert_str_eq(items[0].u.str->text, "other");
    ck_assert_str_eq(items[1].u.seq->item[0].u.str->text, "two");
    ck_assert_int_eq(items[1].u.seq->item[1].kind, CFX_BOOL_VALUE);
    ck_assert(cfx_dict_get(items[2], "k").u.f == 3.5);
    cfx_value slice = cfx_dict_get(items[2], "l");
    ck_assert_int_eq(slice.kind, CFX_SLICE);
    ck_assert_str_eq(slice.u.seq->item[1].u.str->text, "other");
    cfx_value_unref(out);
    cfx_value_unref(v);
    cfx_value_unref(before);
}

TEST_CASE(map_keeps_named_tuples)
{
    static const cfx_named_tuple max = {"torch.return_types.max",
                                        "values indices"};
    cfx_value items[] = {cfx_int(2), cfx_float(2)}, out;
    cfx_value v = cfx_seq_new(ctx, CFX_TUPLE, 2, items, &max);

    ck_assert_int_eq(cfx_value_map(&out, ctx, v, spell, NULL, &err), CFX_OK);
    ck_assert_ptr_eq(out.u.seq->type, &max);
    cfx_value_unref(out);
    cfx_value_unref(v);
}

TEST_CASE(map_of_a_single_value_is_what_fn_gives)
{
    cfx_value out;

    ck_assert_int_eq(cfx_value_map(&out, ctx, cfx_int(2), spell, NULL, &err),
                     CFX_OK);
    ck_assert_str_eq(out.u.str->text, "two");
    cfx_value_unref(out);
}

TEST_CASE(map_passes_failures_through_and_cleans_up)
{
    cfx_value v = sample(), out;
    int fail = 1;

    ck_assert_int_eq(cfx_value_map(&out, ctx, v, spell, &fail, &err),
                     CFX_EUSER);
    ck_assert(cfx_value_is_absent(out));
    cfx_value_unref(v);
}

static cfx_status deepen(void *user, cfx_value v, cfx_value *out)
{
    (void)v;
    *out = cfx_value_ref(*(cfx_value *)user);
    return CFX_OK;
}

TEST_CASE(map_refuses_results_that_are_too_deep)
{
    cfx_value v = nested(40), in = nested(40), out;

    assert_fails(cfx_value_map(&out, ctx, v, deepen, &in, &err), CFX_EINVAL,
                 "values are nested deeper than 64");
    ck_assert(cfx_value_is_absent(out));
    cfx_value_unref(v);
    cfx_value_unref(in);
    v = nested(32);
    in = nested(32);
    ck_assert_int_eq(cfx_value_map(&out, ctx, v, deepen, &in, &err), CFX_OK);
    ck_assert(cfx_value_is_absent(cfx_list_new(ctx, 1, &out)));
    cfx_value_unref(out);
    cfx_value_unref(v);
    cfx_value_unref(in);
}

/* A sample by hand, in which every step may fail. */
static cfx_status work(void)
{
    cfx_value k = str("k"), list = CFX_NOTHING, dict = CFX_NOTHING;
    cfx_value out = CFX_NOTHING;
    cfx_status status = CFX_ENOMEM;

    if (cfx_value_is_absent(k))
        goto out;
    list = cfx_list_new(ctx, 2, (cfx_value[]){cfx_int(1), k});
    if (cfx_value_is_absent(list))
        goto out;
    dict = cfx_dict_new(ctx, 2, (cfx_value[]){k, list, k, list});
    if (cfx_value_is_absent(dict))
        goto out;
    status = cfx_value_map(&out, ctx, dict, spell, NULL, &err);
out:
    cfx_value_unref(out);
    cfx_value_unref(dict);
    cfx_value_unref(list);
    cfx_value_unref(k);
    return status;
}

TEST_CASE(every_allocation_may_fail)
{
    for (long n = 0;; n++) {
        allowed = n;
        failed = false;
        memset(&err, 0, sizeof err);
        cfx_status status = work();
        allowed = -1;
        if (!failed) {
            ck_assert_int_eq(status, CFX_OK);
            break;
        }
        if (status)
            ck_assert_int_eq(status, CFX_ENOMEM);
        ck_assert_uint_eq(cfx_context_memory(ctx), held_before);
    }
}

/* ---- Floats as text ---- */

TEST_CASE(float_repr_is_that_of_python)
{
    static const struct {
        double f;
        const char *text;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {0.1, "0.1"},
        {1e-5, "1e-05"},
        {0.0001, "0.0001"},
        {0.00012, "0.00012"},
        {1.5e-7, "1.5e-07"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {123456789012345680.0, "1.2345678901234568e+17"},
        {9999999999999998.0, "9999999999999998.0"},
        {-2.5, "-2.5"},
        {1.0 / 3, "0.3333333333333333"},
        {2.0 / 3, "0.6666666666666666"},
        {0.1 + 0.2, "0.30000000000000004"},
        {5e-324, "5e-324"},
        {1e-323, "1e-323"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {0x1p-44, "5.684341886080802e-14"},
        {0x1p-1074, "5e-324"},
        {0x1p60, "1.152921504606847e+18"},
        {9007199254740993.0, "9007199254740992.0"},
        {1e22, "1e+22"},
        {1e23, "1e+23"},
        {100, "100.0"},
        {1e100, "1e+100"},
        {3.4028234663852886e38, "3.4028234663852886e+38"},
        {(double)0.1f, "0.10000000149011612"},
        {1e-7, "1e-07"},
        {123.456, "123.456"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "nan"},
        {-NAN, "nan"},
    };
    char text[32];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cfx_float_repr(text, cases[i].f);
        ck_assert_str_eq(text, cases[i].text);
    }
}

TEST_CASE(float_repr_reads_back)
{
    uint64_t bits = 1;
    char text[32];

    for (int i = 0; i < 20000; i++) {
        double f;
        bits = bits * UINT64_C(6364136223846793005) + 1442695040888963407;
        memcpy(&f, &bits, sizeof f);
        if (i % 4 == 1)
            f = ldexp(1, (int)(bits >> 32) % 1074);
        else if (i % 4 == 2)
            f = (double)(float)f;
        if (isnan(f))
            continue;
        cfx_float_repr(text, f);
        ck_assert_uint_lt(strlen(text), 32);
        ck_assert_msg(strtod(text, NULL) == f, "%s is not %a", text, f);
    }
}

TEST_CASE(text_of_numbers_does_not_depend_on_the_locale)
{
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8",
                                          "fr_FR.UTF-8", "ps_AF.UTF-8"};
    char text[32], *s;
    size_t size;

    for (size_t i = 0; i < sizeof locales / sizeof *locales; i++)
        if (setlocale(LC_ALL, locales[i]))
            break;
    cfx_float_repr(text, 0.25);
    ck_assert_str_eq(text, "0.25");
    cfx_tensor *t = new_tensor(CFX_F32, "2");
    memcpy(t->data, (float[]){0.25f, 1e6f}, 8);
    ck_assert_int_eq(cfx_tensor_print(&s, &size, t, &err), CFX_OK);
    ck_assert_str_eq(s, "tensor([2.5000e-01, 1.0000e+06])");
    cfx_free(ctx, s, size);
    ((float *)t->data)[1] = 1;
    ck_assert_int_eq(cfx_tensor_print(&s, &size, t, &err), CFX_OK);
    ck_assert_str_eq(s, "tensor([0.2500, 1.0000])");
    cfx_free(ctx, s, size);
    cfx_tensor_unref(t);
    setlocale(LC_ALL, "C");
}

TEST_SUITE(value, .setup = setup, .teardown = teardown, .timeout = 120)
