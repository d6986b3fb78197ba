/*
 * load_test -- models with their weights, and weights that a seed makes.
 */
#include <inttypes.h>
#include <math.h>

#include "tests/unit/format/file_test.h"
#include "tests/unit/unit.h"

/* ---- Weights from a seed ---- */

static double value_at(const cfx_tensor *t, int64_t i)
{
    return cfx_element_double(
        (cfx_dtype)t->dtype,
        (char *)t->data + (size_t)i * cfx_dtype_size((cfx_dtype)t->dtype));
}

/* A graph that adds two nodes `adds` times, in all the ways that count, and
 * once in a way that does not. */
static cfx_graph *adding_graph(cfx_context *ctx, int adds)
{
    static const char *const target[] = {"operator.add", "torch.add",
                                         "operator.iadd"};
    cfx_graph *g;

    ck_assert_int_eq(cfx_graph_new(&g, ctx, NULL), CFX_OK);
    cfx_node *x = cfx_graph_placeholder(g, "x", NULL);
    cfx_value two[] = {cfx_value_of_node(x), cfx_value_of_node(x)};
    cfx_value one[] = {cfx_value_of_node(x), cfx_int(1)};
    for (int i = 0; i < adds; i++) {
        if (i % 4 == 3)
            cfx_graph_call_method(g, i % 8 == 3 ? "add" : "add_",
                                  cfx_args_of(two, 2), NULL);
        else
            cfx_graph_call_function(g, target[i % 4], cfx_args_of(two, 2),
                                    NULL);
    }
    cfx_graph_call_function(g, "operator.add", cfx_args_of(one, 2), NULL);
    cfx_graph_call_function(g, "operator.mul", cfx_args_of(two, 2), NULL);
    cfx_graph_output(g, two[0], NULL);
    return g;
}

/* A module with one buffer of that dotted name. */
static cfx_module *module_with(cfx_context *ctx, const char *name,
                               cfx_tensor *t, int adds)
{
    cfx_module *gm, *root, *child;
    const char *dot = strchr(name, '.');
    char first[64];

    ck_assert_int_eq(cfx_module_new_container(&root, ctx, "Model", NULL),
                     CFX_OK);
    child = root;
    if (dot) {
        snprintf(first, sizeof(first), "%.*s", (int)(dot - name), name);
        ck_assert_int_eq(cfx_module_new_container(&child, ctx, "Part", NULL),
                         CFX_OK);
        ck_assert_int_eq(cfx_module_add_take(root, first, child, NULL),
                         CFX_OK);
    }
    ck_assert_int_eq(cfx_module_set(child, dot ? dot + 1 : name, t, NULL),
                     CFX_OK);
    ck_assert_int_eq(cfx_graph_module_new_take_both(&gm, ctx, root,
                                                    adding_graph(ctx, adds),
                                                    "Model", NULL),
                     CFX_OK);
    return gm;
}

static cfx_tensor *parse_spec(cfx_context *ctx, const char *spec, bool meta)
{
    char name[16];
    int64_t shape[CFX_MAX_RANK];
    cfx_dim dims[CFX_MAX_RANK];
    cfx_dtype dtype;
    int rank = 0;
    cfx_tensor *t;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(spec, "["), spec);
    if (!cfx_dtype_parse(&dtype, name))
        return NULL;
    for (const char *p = strchr(spec, '[') + 1; *p != ']';) {
        shape[rank] = strtol(p, (char **)&p, 10);
        dims[rank] = cfx_dim_int(shape[rank]);
        rank++;
        p += *p == ',';
    }
    cfx_status rc = meta ? cfx_tensor_meta(&t, ctx, dtype, rank, dims, NULL,
                                           NULL)
                         : cfx_tensor_new(&t, ctx, dtype, rank, shape, NULL);
    ck_assert_int_eq(rc, CFX_OK);
    return t;
}

static void assert_values(const cfx_tensor *t, const char *values,
                          const char *line)
{
    for (int64_t i = 0; i < cfx_tensor_numel(t); i++) {
        char *end;
        double expected = strtod(values, &end);
        ck_assert_msg(end != values && value_at(t, i) == expected,
                      "%s: element %" PRId64 " is %.17g, not %.17g", line, i,
                      value_at(t, i), expected);
        values = end;
    }
}

static void check_vector(cfx_context *ctx, const char *line)
{
    uint64_t seed;
    int adds, used;
    char kind[16], name[64], spec[64], path[96];

    ck_assert_int_eq(sscanf(line, "%" SCNu64 " %d %15s %63s %63s : %n", &seed,
                            &adds, kind, name, spec, &used),
                     5);
    bool input = !strcmp(kind, "input");
    cfx_tensor *t = parse_spec(ctx, spec, !input);
    if (!t)
        return; /* complex numbers */
    if (input) {
        ck_assert_int_eq(cfx_tensor_randomize(t, seed, name, NULL), CFX_OK);
        assert_values(t, line + used, line);
    } else {
        cfx_module *gm = module_with(ctx, name, t, adds);
        ck_assert_int_eq(cfx_module_randomize(gm, seed, NULL), CFX_OK);
        snprintf(path, sizeof(path), "%s", name);
        cfx_value v;
        ck_assert_int_eq(cfx_module_fetch_attr(&v, gm, path, NULL), CFX_OK);
        assert_values(v.u.tensor, line + used, line);
        cfx_module_unref(gm);
    }
    cfx_tensor_unref(t);
}

TEST_CASE(seeds_give_the_values_of_the_oracle)
{
    cfx_context *ctx = make_context();
    char path[512], line[4096];
    int n = 0;

    snprintf(path, sizeof(path), "%s/tests/golden/seeded.txt",
             getenv("srcdir") ? getenv("srcdir") : ".");
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s", path);
    for (; fgets(line, sizeof(line), f); n++)
        check_vector(ctx, line);
    fclose(f);
    ck_assert_int_gt(n, 50);
    free_context(ctx);
}

TEST_CASE(seeds_give_views_the_values_of_their_place)
{
    cfx_context *ctx = make_context();
    const int64_t shape[] = {5, 7};
    const cfx_dim turned[] = {cfx_dim_int(7), cfx_dim_int(5)};
    const cfx_dim stride[] = {cfx_dim_int(1), cfx_dim_int(7)};
    cfx_tensor *base, *view, *flat;

    ck_assert_int_eq(cfx_tensor_new(&base, ctx, CFX_F32, 2, shape, NULL),
                     CFX_OK);
    ck_assert_int_eq(
        cfx_tensor_view(&view, base, 2, turned, stride, cfx_dim_int(0), NULL),
        CFX_OK);
    ck_assert_int_eq(cfx_tensor_randomize(view, 3, "x", NULL), CFX_OK);
    ck_assert_int_eq(cfx_tensor_contiguous(&flat, view, NULL), CFX_OK);
    cfx_tensor_unref(view);
    const int64_t other[] = {7, 5};
    ck_assert_int_eq(cfx_tensor_new(&view, ctx, CFX_F32, 2, other, NULL),
                     CFX_OK);
    ck_assert_int_eq(cfx_tensor_randomize(view, 3, "x", NULL), CFX_OK);
    ck_assert_mem_eq(view->data, flat->data, 35 * sizeof(float));
    cfx_tensor_unref(flat);
    cfx_tensor_unref(view);
    cfx_tensor_unref(base);
    free_context(ctx);
}

/* ---- Models ---- */

static const char model[] =
    "M(\n"
    "  (fc): Linear(in_features=2, out_features=3, bias=True)\n"
    "  (bn): BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, "
    "track_running_stats=True)\n"
    ")\n\n\n\n"
    "def forward(self, x):\n"
    "    fc = self.fc(x);  x = None\n"
    "    token = self.part.token\n"
    "    add = fc + token;  fc = token = None\n"
    "    bn = self.bn(add);  add = None\n"
    "    return bn\n"
    "    \n"
    "# To see more debug info, please use `graph_module.print_readable()`\n\n"
    "graph():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %fc : [num_users=1] = call_module[target=fc](args = (%x,), "
    "kwargs = {})\n"
    "    %token : [num_users=1] = get_attr[target=part.token]\n"
    "    %add : [num_users=1] = call_function[target=operator.add](args = "
    "(%fc, %token), kwargs = {})\n"
    "    %bn : [num_users=1] = call_module[target=bn](args = (%add,), "
    "kwargs = {})\n"
    "    return bn\n";

/* Write weights of those names, all of shape [3] but fc.weight. */
static void write_weights(cfx_context *ctx, const char *path, int n,
                          const char *const *names)
{
    const int64_t shape[] = {3, 2};
    cfx_named_tensor item[8] = {{NULL, NULL}};

    for (int i = 0; i < n; i++) {
        item[i].name = names[i];
        item[i].tensor = tensor_of(ctx, CFX_F32,
                                   strcmp(names[i], "fc.weight") ? 1 : 2,
                                   shape, 10 * i);
    }
    ck_assert_int_eq(cfx_safetensors_write(path, ctx, item, (size_t)n, NULL),
                     CFX_OK);
    for (int i = 0; i < n; i++)
        cfx_tensor_unref(item[i].tensor);
}

static const char *const names[] = {
    "fc.weight",      "fc.bias",    "bn.running_mean",
    "bn.running_var", "part.token", "fc.other",
};

static const cfx_tensor *state_of(const cfx_module *gm, const char *path)
{
    cfx_value v;

    ck_assert_int_eq(cfx_module_fetch_attr(&v, gm, path, NULL), CFX_OK);
    ck_assert_int_eq(v.kind, CFX_TENSOR);
    return v.u.tensor;
}

TEST_CASE(models_find_their_weights_beside_them)
{
    cfx_context *ctx = make_context();
    cfx_module *gm;
    cfx_error err = {0};

    put(file("m.fx"), model, sizeof(model) - 1);
    write_weights(ctx, file("m.safetensors"), 5, names);
    for (int map = 0; map < 2; map++) {
        const cfx_load_options o = {.size = sizeof(o), .no_map = !map};
        ck_assert_msg(!cfx_model_load(&gm, ctx, file("m.fx"), &o, &err), "%s",
                      err.text);
        ck_assert_double_eq(value_at(state_of(gm, "fc.bias"), 2), 12);
        ck_assert_double_eq(value_at(state_of(gm, "part.token"), 1), 41);
        ck_assert(cfx_tensor_is_meta(state_of(gm, "bn.weight")));
        cfx_module_unref(gm);
    }
    unlink(file("m.safetensors"));
    ck_assert_int_eq(cfx_model_load(&gm, ctx, file("m.fx"), NULL, NULL),
                     CFX_OK);
    ck_assert(cfx_tensor_is_meta(state_of(gm, "fc.bias")));
    cfx_module_unref(gm);
    free_context(ctx);
}

/* All bytes of a file, aligned to 64; free() it. */
static unsigned char *bytes_of(const char *path, size_t *size)
{
    unsigned char *p = NULL;
    FILE *f = fopen(path, "rb");

    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(posix_memalign((void **)&p, 64, 4096), 0);
    *size = fread(p, 1, 4000, f);
    ck_assert(*size > 0 && *size < 4000);
    fclose(f);
    return p;
}

static bool lies_in(const cfx_tensor *t, const unsigned char *p, size_t size)
{
    const unsigned char *at = t->data;

    return at >= p && at < p + size;
}

/* torch.export's graphs fetch their state first; what begins with the tree's
 * root anew is buffers. */
TEST_CASE(a_buffer_that_is_fetched_again_stays_one)
{
    static const char text[] =
        "Net(\n  (a): Module()\n)\n\ngraph():\n"
        "    %w : [num_users=0] = get_attr[target=a.w]\n"
        "    %b : [num_users=0] = get_attr[target=shift]\n"
        "    %x : [num_users=0] = placeholder[target=x]\n"
        "    %b_1 : [num_users=1] = get_attr[target=shift]\n"
        "    return b_1\n";
    cfx_context *ctx = make_context();
    cfx_module *gm;
    cfx_error err = {0};
    cfx_tensor *t = parse_spec(ctx, "f32[2]", false);
    const cfx_named_tensor items[] = {{"a.w", t}, {"shift", t}};

    put(file("m.fx"), text, sizeof(text) - 1);
    ck_assert_msg(
        !cfx_safetensors_write(file("m.safetensors"), ctx, items, 2, &err),
        "%s", err.text);
    ck_assert_msg(!cfx_model_load(&gm, ctx, file("m.fx"), NULL, &err), "%s",
                  err.text);
    ck_assert(!cfx_module_state(cfx_module_child(gm, "a"), "w")->is_buffer);
    ck_assert(cfx_module_state(gm, "shift")->is_buffer);
    cfx_module_unref(gm);
    cfx_tensor_unref(t);
    free_context(ctx);
}

TEST_CASE(models_and_weights_are_read_from_memory)
{
    cfx_context *ctx = make_context();
    cfx_module *gm;
    cfx_error err = {0};
    size_t size;

    write_weights(ctx, file("o.safetensors"), 5, names);
    unsigned char *data = bytes_of(file("o.safetensors"), &size);
    /* Borrowed, borrowed where nothing is aligned, copied. */
    for (int i = 0; i < 3; i++) {
        unsigned char *at = data + (i == 1);
        memmove(at, i == 2 ? data + 1 : data, size);
        ck_assert_int_eq(
            cfx_parse_model(&gm, ctx, model, sizeof(model) - 1, "m", &err),
            CFX_OK);
        ck_assert_msg(!cfx_module_parse_weights(gm, at, size, i < 2, &err),
                      "%s", err.text);
        ck_assert_int_eq(lies_in(state_of(gm, "fc.bias"), at, size), i == 0);
        if (i == 2)
            memset(data, 0xff, size);
        ck_assert_double_eq(value_at(state_of(gm, "fc.bias"), 2), 12);
        ck_assert_double_eq(value_at(state_of(gm, "part.token"), 1), 41);
        ck_assert(cfx_tensor_is_meta(state_of(gm, "bn.weight")));
        cfx_module_unref(gm);
    }
    free(data);
    free_context(ctx);
}

TEST_CASE(weights_in_memory_are_checked_like_a_file)
{
    cfx_context *ctx = make_context();
    cfx_module *gm;
    cfx_error err = {0};
    size_t size;

    write_weights(ctx, file("p.safetensors"), 6, names);
    unsigned char *data = bytes_of(file("p.safetensors"), &size);
    ck_assert_int_eq(
        cfx_parse_model(&gm, ctx, model, sizeof(model) - 1, "m", &err),
        CFX_OK);
    ck_assert_int_eq(cfx_module_parse_weights(gm, data, size, true, &err),
                     CFX_ENAME);
    assert_text(&err, "weights: ", "'fc.other', which the model lacks");
    for (size_t n = 0; n < size; n++) {
        /* In a block of its own, so that sanitizers see reads past the end. */
        unsigned char *cut = malloc(n ? n : 1);
        cfx_tensors t;
        ck_assert_ptr_nonnull(cut);
        memcpy(cut, data, n);
        for (int borrow = 0; borrow < 2; borrow++)
            ck_assert_int_eq(
                cfx_safetensors_parse(&t, ctx, cut, n, borrow, NULL),
                CFX_EPARSE);
        free(cut);
    }
    ck_assert_int_eq(cfx_module_parse_weights(gm, NULL, 0, true, NULL),
                     CFX_EPARSE);
    cfx_module_unref(gm);
    free(data);
    free_context(ctx);
}

TEST_CASE(bools_in_memory_are_not_written_to)
{
    static const char file_of_bools[] =
        "\x3c\0\0\0\0\0\0\0"
        "{\"b\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2]}}     "
        "\0\7";
    cfx_context *ctx = make_context();
    cfx_tensors t;
    cfx_error err = {0};

    ck_assert_msg(!cfx_safetensors_parse(&t, ctx, file_of_bools,
                                         sizeof(file_of_bools) - 1, true,
                                         &err),
                  "%s", err.text);
    ck_assert_mem_eq(t.item[0].tensor->data, "\0\1", 2);
    cfx_tensors_release(&t);
    free_context(ctx);
}

TEST_CASE(models_refuse_weights_that_are_not_theirs)
{
    cfx_context *ctx = make_context();
    const char *path = file("w.safetensors");
    const cfx_load_options o = {.size = sizeof(o), .weights = path};
    cfx_module *gm;
    cfx_error err = {0};
    const int64_t shape[] = {4};

    put(file("n.fx"), model, sizeof(model) - 1);
    write_weights(ctx, path, 6, names);
    ck_assert_int_eq(cfx_model_load(&gm, ctx, file("n.fx"), &o, &err),
                     CFX_ENAME);
    ck_assert_ptr_null(gm);
    assert_text(&err, path, "'fc.other', which the model lacks");
    cfx_named_tensor wide = {"fc.bias", tensor_of(ctx, CFX_F32, 1, shape, 0)};
    ck_assert_int_eq(cfx_safetensors_write(path, ctx, &wide, 1, NULL), CFX_OK);
    cfx_tensor_unref(wide.tensor);
    err = (cfx_error){0};
    ck_assert_int_eq(cfx_model_load(&gm, ctx, file("n.fx"), &o, &err),
                     CFX_ESHAPE);
    assert_text(&err, path, "fc.bias");
    unlink(path);
    err = (cfx_error){0};
    ck_assert_int_eq(cfx_model_load(&gm, ctx, file("n.fx"), &o, &err),
                     CFX_EIO);
    assert_text(&err, path, "No such file");
    free_context(ctx);
}

static const char constants[] =
    "# cfx 1\n"
    "graph():\n"
    "    %x : [num_users=1] = placeholder[target=x]\n"
    "    %c : [num_users=1] = call_function[target=torch.cat](args = "
    "([%x, tensor('%tensor0', f32[3]), tensor('%tensor0', f32[3])],), "
    "kwargs = {})\n"
    "    %d : [num_users=1] = call_function[target=operator.add](args = "
    "(%c, %c), kwargs = {})\n"
    "    %e : [num_users=1] = call_function[target=torch.add](args = "
    "(%d,), kwargs = {other: tensor('%tensor1', i64[])})\n"
    "    return %e\n";

static cfx_status load_constants(cfx_context *ctx, cfx_module **gm,
                                 const char *first, int rank,
                                 const char *second, cfx_error *err)
{
    const int64_t shape[] = {3};
    cfx_named_tensor item[] = {
        {first, tensor_of(ctx, CFX_F32, rank, shape, 7)},
        {second, tensor_of(ctx, CFX_I64, 0, NULL, 5)}};

    *err = (cfx_error){0};
    put(file("c.fx"), constants, sizeof(constants) - 1);
    ck_assert_int_eq(
        cfx_safetensors_write(file("c.safetensors"), ctx, item, 2, NULL),
        CFX_OK);
    cfx_tensor_unref(item[0].tensor);
    cfx_tensor_unref(item[1].tensor);
    return cfx_model_load(gm, ctx, file("c.fx"), NULL, err);
}

TEST_CASE(tensors_in_arguments_find_their_numbers)
{
    cfx_context *ctx = make_context();
    cfx_module *gm;
    cfx_error err;

    ck_assert_msg(!load_constants(ctx, &gm, "%tensor0", 1, "%tensor1", &err),
                  "%s", err.text);
    const cfx_graph *g = cfx_graph_module_graph(gm);
    const cfx_value *item = cfx_graph_find(g, "c")->args[0].u.seq->item;
    ck_assert_ptr_eq(item[1].u.tensor, item[2].u.tensor);
    ck_assert_double_eq(value_at(item[1].u.tensor, 2), 9);
    ck_assert_double_eq(
        value_at(cfx_graph_find(g, "e")->kwargs[1].u.tensor, 0), 5);
    cfx_module_unref(gm);
    ck_assert_int_eq(load_constants(ctx, &gm, "%tensor0", 0, "%tensor1", &err),
                     CFX_ESHAPE);
    assert_text(&err, file("c.safetensors"),
                "%tensor0 is f32[], the model expects f32[3]");
    ck_assert_int_eq(load_constants(ctx, &gm, "%tensor0", 1, "%tensor7", &err),
                     CFX_ENAME);
    assert_text(&err, file("c.safetensors"),
                "has '%tensor7', which the model lacks");
    unlink(file("c.safetensors"));
    free_context(ctx);
}

/* Write an index that says where the tensors are: the first `n` of names in
 * one file, the others in a second one. */
static void write_index(const char *path, const char *first,
                        const char *second, int n)
{
    char text[1024] = "{\"metadata\": {}, \"weight_map\": {";
    size_t at = strlen(text);

    for (int i = 0; i < 5; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at,
                               "%s\"%s\": \"%s\"", i ? ", " : "", names[i],
                               i < n ? first : second);
    at += (size_t)snprintf(text + at, sizeof(text) - at, "}}");
    put(path, text, at);
}

TEST_CASE(models_take_weights_from_several_files)
{
    cfx_context *ctx = make_context();
    cfx_module *gm;
    cfx_error err = {0};
    const char *index = file("s.safetensors.index.json");

    put(file("s.fx"), model, sizeof(model) - 1);
    write_weights(ctx, file("s-1.safetensors"), 2, names);
    write_weights(ctx, file("s-2.safetensors"), 3, names + 2);
    write_index(index, "s-1.safetensors", "s-2.safetensors", 2);
    ck_assert_msg(!cfx_model_load(&gm, ctx, file("s.fx"), NULL, &err), "%s",
                  err.text);
    ck_assert_double_eq(value_at(state_of(gm, "fc.bias"), 2), 12);
    ck_assert_double_eq(value_at(state_of(gm, "part.token"), 1), 21);
    cfx_module_unref(gm);

    write_index(index, "s-1.safetensors", "s-2.safetensors", 1);
    ck_assert_int_eq(cfx_model_load(&gm, ctx, file("s.fx"), NULL, &err),
                     CFX_EPARSE);
    assert_text(&err, index, "which the index does not say");
    write_index(index, "../s-1.safetensors", "s-2.safetensors", 2);
    err = (cfx_error){0};
    ck_assert_int_eq(cfx_model_load(&gm, ctx, file("s.fx"), NULL, &err),
                     CFX_EPARSE);
    assert_text(&err, index, "no proper file");
    write_index(index, "s-3.safetensors", "s-2.safetensors", 2);
    ck_assert_int_eq(cfx_model_load(&gm, ctx, file("s.fx"), NULL, NULL),
                     CFX_EIO);
    put(index, "{}", 2);
    ck_assert_int_eq(cfx_model_load(&gm, ctx, file("s.fx"), NULL, NULL),
                     CFX_EPARSE);
    free_context(ctx);
}

TEST_CASE(models_that_are_no_text_are_refused)
{
    cfx_context *ctx = make_context();
    cfx_module *gm;
    cfx_error err = {0};
    const char *path = file("zip.fx");

    /* It is taken for a .pt2 archive, in a build that reads them. */
    put(path, "PK\3\4....", 8);
    cfx_status st = cfx_model_load(&gm, ctx, path, NULL, &err);
    ck_assert(st == CFX_EPARSE || st == CFX_EUNSUPPORTED);
    assert_text(&err, path, "zip");
    err = (cfx_error){0};
    put(path, "graph\0()", 8);
    ck_assert_int_eq(cfx_model_load(&gm, ctx, path, NULL, &err), CFX_EPARSE);
    assert_text(&err, path, "not the text");
    err = (cfx_error){0};
    put(path, "", 0);
    ck_assert_int_ne(cfx_model_load(&gm, ctx, path, NULL, &err), CFX_OK);
    assert_text(&err, path, "");
    free_context(ctx);
}

/* ---- Saving ---- */

static cfx_module *load_saved(cfx_context *ctx, const char *path)
{
    cfx_module *gm;
    cfx_error err = {0};

    ck_assert_msg(!cfx_model_load(&gm, ctx, path, NULL, &err), "%s", err.text);
    ck_assert_double_eq(value_at(state_of(gm, "part.token"), 1), 41);
    return gm;
}

TEST_CASE(the_name_of_a_file_tells_the_format_of_a_model)
{
    ck_assert_str_eq(cfx_model_format_of_name("a/m.fx")->base.name, "text");
    ck_assert_str_eq(cfx_model_format_of_name("a/m/")->base.name, "folder");
    ck_assert_ptr_null(cfx_model_format_of_name("m.npy"));
    ck_assert_ptr_null(cfx_model_format_of_name(".fx"));
    size_t n = 0;
    while (cfx_model_format_at(n))
        n++;
    ck_assert_uint_ge(n, 2);
}

TEST_CASE(models_that_are_saved_come_back)
{
    cfx_context *ctx = make_context();
    const cfx_save_options lossless = {.size = sizeof(lossless),
                                       .lossless = true};
    cfx_error err = {0};

    put(file("m.fx"), model, sizeof(model) - 1);
    write_weights(ctx, file("m.safetensors"), 5, names);
    cfx_module *gm = load_saved(ctx, file("m.fx"));
    ck_assert_int_eq(cfx_model_save(file("saved.fx"), gm, NULL, &err), CFX_OK);
    ck_assert_int_eq(cfx_model_save(file("whole.fx"), gm, &lossless, &err),
                     CFX_OK);
    ck_assert_int_eq(cfx_model_save(file("folder/"), gm, NULL, &err), CFX_OK);
    cfx_module_unref(gm);
    cfx_module_unref(load_saved(ctx, file("saved.fx")));
    cfx_module_unref(load_saved(ctx, file("whole.fx")));
    ck_assert(!cfx_model_is_lossless(file("m.fx")));
    ck_assert(!cfx_model_is_lossless(file("saved.fx")));
    ck_assert(cfx_model_is_lossless(file("whole.fx")));
    ck_assert(!access(file("folder/module.py"), F_OK));
    unlink(file("folder/module.py"));
    unlink(file("folder/__init__.py"));
    unlink(file("folder/state.safetensors"));
    rmdir(file("folder"));
    free_context(ctx);
}

TEST_CASE(saving_gives_back_all_when_memory_is_lacking)
{
    cfx_context *ctx = make_context();
    cfx_status st = CFX_ENOMEM;

    put(file("m.fx"), model, sizeof(model) - 1);
    write_weights(ctx, file("m.safetensors"), 5, names);
    cfx_module *gm = load_saved(ctx, file("m.fx"));
    unlink(file("lacking.fx"));
    for (long n = 0; st; n++) {
        ck_assert(access(file("lacking.fx"), F_OK));
        calls_left = n;
        st = cfx_model_save(file("lacking.fx"), gm, NULL, NULL);
        calls_left = -1;
        ck_assert_msg(st == CFX_OK || st == CFX_ENOMEM, "%ld: %d", n, st);
    }
    cfx_module_unref(gm);
    cfx_module_unref(load_saved(ctx, file("lacking.fx")));
    free_context(ctx);
}

TEST_CASE(loading_gives_back_all_when_memory_is_lacking)
{
    cfx_context *ctx = make_context();
    cfx_module *gm;
    cfx_status rc = CFX_ENOMEM;

    put(file("k.fx"), model, sizeof(model) - 1);
    write_weights(ctx, file("k.safetensors"), 5, names);
    /* The registry is made when it is first asked, which cannot fail softly. */
    ck_assert_ptr_nonnull(cfx_find_module_type(ctx, "Linear"));
    for (long n = 0; rc; n++) {
        calls_left = n;
        rc = cfx_model_load(&gm, ctx, file("k.fx"), NULL, NULL);
        calls_left = -1;
        ck_assert_msg(rc == CFX_OK || rc == CFX_ENOMEM, "%ld: %d", n, rc);
    }
    size_t size;
    unsigned char *data = bytes_of(file("k.safetensors"), &size);
    rc = CFX_ENOMEM;
    for (long n = 0; rc; n++) {
        calls_left = n;
        rc = cfx_module_parse_weights(gm, data, size, n % 2, NULL);
        calls_left = -1;
        ck_assert(rc == CFX_OK || rc == CFX_ENOMEM);
    }
    rc = CFX_ENOMEM;
    for (long n = 0; rc; n++) {
        calls_left = n;
        rc = cfx_module_randomize(gm, 1, NULL);
        calls_left = -1;
        ck_assert(rc == CFX_OK || rc == CFX_ENOMEM);
    }
    cfx_module_unref(gm);
    free(data);
    free_context(ctx);
}

#ifdef HAVE_ONNX
/* Models with functions, branches, loops and symbolic shapes. */
TEST_CASE(reading_onnx_gives_back_all_when_memory_is_lacking)
{
    static const char *const seeds[] = {"own_if",
                                        "own_loop",
                                        "own_function",
                                        "own_symbolic_reshape",
                                        "own_constant_strings",
                                        "own_labels",
                                        "own_if_of_strings",
                                        "test_lstm_defaults"};
    const char *src = getenv("srcdir");
    char path[1024];

    for (size_t i = 0; i < sizeof(seeds) / sizeof(*seeds); i++) {
        cfx_context *ctx = make_context();
        cfx_module *gm = NULL;
        cfx_status st = CFX_ENOMEM;
        snprintf(path, sizeof(path), "%s/tests/fuzz/seeds/onnx/%s",
                 src ? src : ".", seeds[i]);
        ck_assert_ptr_nonnull(cfx_find_module_type(ctx, "Linear"));
        for (long n = 0; st; n++) {
            calls_left = n;
            st = cfx_model_load(&gm, ctx, path, NULL, NULL);
            calls_left = -1;
            ck_assert_msg(st == CFX_OK || st == CFX_ENOMEM, "%s: %ld: %d",
                          seeds[i], n, st);
        }
        cfx_module_unref(gm);
        free_context(ctx);
    }
}
#endif

TEST_SUITE(load, .setup_once = make_place, .teardown_once = remove_place,
           .timeout = 120)
