/*
 * python_test -- Python code that torch.fx and Dynamo print, read as models.
 *
 * All graphs of golden/code, golden/text, golden/graphs, golden/folder and
 * models/ are printed as code, and read back; golden/dynamo has what Dynamo
 * printed (tests/oracle/dynamo.py --write). (The zoo: zoo_text_test.)
 */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cfx/file.h>
#include <cfx/text.h>

#include "base/util.h"
#include "format/print.h"
#include "tests/unit/counted.h"
#include "tests/unit/sections.h"
#include "tests/unit/unit.h"

static cfx_context *ctx;
static cfx_error err;

static void setup(void)
{
    memset(&err, 0, sizeof(err));
    ctx = counted_context();
}

static void teardown(void)
{
    free_counted(ctx);
}

/* ---- There and back ---- */

/* Graphs of which code does not hold all, and why. */
static const struct {
    const char *name, *why;
} lost[] = {
    {"aggregates", "code has my_package_ops_untraced: dots or underscores?"},
    {"other_functions", "as above"},
    {"wrapped_functions", "as above"},
    {"ranges", "as above"},
    {"names_that_meet_globals", "code counts up names that are globals"},
    {"fn_type_annotations", "code writes the type ... as _"},
    {"tuple_no_subscript", "code has tuple for typing.Tuple"},
    {"parameter_called_self", "code cannot tell it from the module"},
    {"functions.fx", "a node is called all, which code calls all_1"},
    {"random0", "code drops keyword arguments of operators"},
    {"random1", "a parameter follows another node"},
    {"random3", "two of its parameters have one name"},
    {"random4", "two of its parameters have one name"},
    {"random5", "a method of a number: this code is no Python"},
    {"random9", "two of its parameters have one name"},
    {"tensors", "code does not hold the numbers of a tensor"},
};

static bool loses(const char *name)
{
    for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
        if (!strcmp(lost[i].name, name))
            return true;
    return false;
}

static cfx_status read_code(cfx_module **out, const char *text, size_t len)
{
    memset(&err, 0, sizeof(err));
    return cfx_parse_python(out, ctx, text, len, "m.py", &err);
}

/* Does the code hold the graph of gm? */
static bool comes_back(const cfx_module *gm, const cfx_buf *code)
{
    cfx_module *back;
    cfx_buf want, have;
    if (read_code(&back, cfx_buf_str(code), code->len))
        return false;
    cfx_buf_init(&want, ctx);
    cfx_buf_init(&have, ctx);
    cfx_print_graph(cfx_sink_buf(&want), cfx_graph_module_graph(gm), false,
                    NULL);
    cfx_print_graph(cfx_sink_buf(&have), cfx_graph_module_graph(back), false,
                    NULL);
    bool same = want.len && !strcmp(cfx_buf_str(&want), cfx_buf_str(&have));
    if (!same)
        snprintf(err.text, sizeof(err.text), "%s", cfx_buf_str(&have));
    cfx_buf_release(&want);
    cfx_buf_release(&have);
    cfx_module_unref(back);
    return same;
}

/* Both forms of a model's code. */
static int check_model(const char *text, size_t len, const char *name)
{
    cfx_module *gm;
    if (cfx_parse_model(&gm, ctx, text, len, name, &err))
        ck_abort_msg("%s", err.text);
    for (int i = 0; i < 2; i++) {
        cfx_buf code;
        cfx_buf_init(&code, ctx);
        memset(&err, 0, sizeof(err));
        cfx_status st = i ? cfx_print_readable(cfx_sink_buf(&code), gm, &err)
                          : cfx_print_code(cfx_sink_buf(&code),
                                           cfx_graph_module_graph(gm), &err);
        ck_assert_msg(!st, "%s: %s", name, err.text);
        if (comes_back(gm, &code) == loses(name))
            ck_abort_msg("%s: %s\n%s", name,
                         loses(name) ? "comes back" : err.text,
                         cfx_buf_str(&code));
        cfx_buf_release(&code);
    }
    cfx_module_unref(gm);
    return 2;
}

static int check_sections(const char *file, const char *name)
{
    enum { ROOM = 16 };
    section s[ROOM];
    size_t len;
    char *text = read_file(file, &len);
    size_t n = split(text, "==== ", s, ROOM);
    int count = 0;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(s[i].name, "lossless"))
            count += check_model(s[i].text, s[i].len, name);
    free(text);
    return count;
}

static int check_file(const char *file, const char *name)
{
    size_t len;
    char *text = read_file(file, &len);
    int count = check_model(text, len, name);
    free(text);
    return count;
}

/* The graphs of a script of edits: the last state of each. */
static int check_script(const char *file, const char *name)
{
    size_t len;
    char *text = read_file(file, &len), *last = NULL;
    for (char *at = text; (at = strstr(at, "\ngraph():\n")); at++)
        last = at + 1;
    ck_assert_ptr_nonnull(last);
    char *end = strstr(last, "\n> ");
    if (end)
        end[1] = '\0';
    /* Some end in other nodes than a return, which no text does. */
    char *first = strstr(last, "    return ");
    bool one = first && !strstr(first, "\n    ");
    int count = one ? check_model(last, strlen(last), name) : 0;
    free(text);
    return count;
}

typedef int check_fn(const char *file, const char *name);

/* All files of a folder below tests/ that end in `suffix`. */
static int check_folder(const char *folder, const char *suffix, check_fn *fn)
{
    char path[1100], name[256];
    int count = 0;
    DIR *dir = opendir(data_path(folder));
    ck_assert_msg(dir != NULL, "%s", folder);
    for (struct dirent *e; (e = readdir(dir));) {
        size_t n = strlen(e->d_name), end = strlen(suffix);
        if (n <= end || n >= sizeof(name) ||
            strcmp(e->d_name + n - end, suffix))
            continue;
        snprintf(path, sizeof(path), "%s/%s", data_path(folder), e->d_name);
        snprintf(name, sizeof(name), "%.*s",
                 (int)(fn == check_file ? n : n - end), e->d_name);
        count += fn(path, name);
    }
    closedir(dir);
    return count;
}

TEST_CASE(code_of_graphs_with_every_construct_is_read_back)
{
    ck_assert_int_ge(check_folder("golden/code", ".txt", check_sections), 100);
    ck_assert_int_ge(check_folder("golden/text", ".txt", check_sections), 60);
}

TEST_CASE(code_of_models_is_read_back)
{
    ck_assert_int_ge(check_folder("../models", ".fx", check_file), 12);
    ck_assert_int_ge(check_folder("golden/folder", ".fx", check_file), 4);
}

TEST_CASE(code_of_edited_graphs_is_read_back)
{
    ck_assert_int_ge(check_folder("golden/graphs", ".out", check_script), 12);
}

/* ---- What Dynamo prints ---- */

static void check_captured(const char *name, const section *s, size_t n)
{
    cfx_module *gm;
    cfx_buf have;
    for (size_t i = 0; i < 2; i++) {
        if (read_code(&gm, s[i].text, s[i].len))
            ck_abort_msg("%s: %s", name, err.text);
        cfx_buf_init(&have, ctx);
        cfx_print_graph(cfx_sink_buf(&have), cfx_graph_module_graph(gm), false,
                        &err);
        /* The last section has the end of the file's last line. */
        s[2 + i].text[s[2 + i].len - (i == 1)] = '\0';
        ck_assert_str_eq(cfx_buf_str(&have), s[2 + i].text);
        cfx_buf_release(&have);
        cfx_module_unref(gm);
    }
    ck_assert_uint_eq(n, 4);
}

static int check_dynamo(const char *file, const char *name)
{
    section s[4];
    size_t len;
    char *text = read_file(file, &len);
    check_captured(name, s, split(text, "==== ", s, 4));
    free(text);
    return 1;
}

TEST_CASE(captured_models_are_the_graphs_that_were_captured)
{
    ck_assert_int_ge(check_folder("golden/dynamo", ".txt", check_dynamo), 6);
}

/* ---- Code that people write ---- */

#define CLASS "class M(torch.nn.Module):\n"
#define DEF "def forward(self, x, y):\n"

static const struct {
    const char *code, *graph;
} written[] = {
    {DEF "    return x\n", "graph():\n"
                           "    %x : [num_users=1] = placeholder[target=x]\n"
                           "    %y : [num_users=0] = placeholder[target=y]\n"
                           "    return x"},
    /* Code in black's format, with slices. */
    {"import torch\n\n\n" CLASS "    \"\"\"A model.\"\"\"\n\n"
     "    def forward(\n        self,\n        x: torch.Tensor,  # first\n"
     "    ):\n"
     "        a = torch.add(\n            x,\n            1,\n        )\n"
     "        x = None\n"
     "        b = a[0, :, 1:2, ::3, ...]\n"
     "        a = None\n"
     "        return (b,)\n",
     "graph():\n"
     "    %x : torch.Tensor [num_users=1] = placeholder[target=x]\n"
     "    %a : [num_users=1] = call_function[target=torch.add](args = (%x, 1), "
     "kwargs = {})\n"
     "    %b : [num_users=1] = call_function[target=operator.getitem](args = "
     "(%a, (0, slice(None, None, None), slice(1, 2, None), slice(None, None, "
     "3), Ellipsis)), kwargs = {})\n"
     "    return (b,)"},
    {DEF "    x += y\n    x[0] = 1\n    a, b = torch.split(x, 2)\n"
         "    return (x, a, b)\n",
     "graph():\n"
     "    %x : [num_users=1] = placeholder[target=x]\n"
     "    %y : [num_users=1] = placeholder[target=y]\n"
     "    %iadd : [num_users=1] = call_function[target=operator.iadd](args = "
     "(%x, %y), kwargs = {})\n"
     "    %setitem : [num_users=2] = call_function[target=operator.setitem]("
     "args = (%iadd, 0, 1), kwargs = {})\n"
     "    %split : [num_users=2] = call_function[target=torch.split](args = "
     "(%setitem, 2), kwargs = {})\n"
     "    %a : [num_users=1] = call_function[target=operator.getitem](args = "
     "(%split, 0), kwargs = {})\n"
     "    %b : [num_users=1] = call_function[target=operator.getitem](args = "
     "(%split, 1), kwargs = {})\n"
     "    return (setitem, a, b)"},
    /* torch.export's modules flatten their inputs. */
    {"def forward(self, x, d):\n"
     "    x, d_k, = fx_pytree.tree_flatten_spec(([x, d], {}), self._in_spec)\n"
     "    add = torch.ops.aten.add.Tensor(x, d_k);  x = d_k = None\n"
     "    return pytree.tree_unflatten((add,), self._out_spec)\n",
     "graph():\n"
     "    %x : [num_users=1] = placeholder[target=x]\n"
     "    %d_k : [num_users=1] = placeholder[target=d_k]\n"
     "    %add : [num_users=1] = call_function[target=torch.ops.aten.add."
     "Tensor](args = (%x, %d_k), kwargs = {})\n"
     "    return (add,)"},
    /* print_readable() of torch.export's modules declares them before. */
    {"class GraphModule(torch.nn.Module):\n"
     "    def forward(self, x, d):\n"
     "        x: \"f32[s77, 3]\"; d_k: \"f32[s77, 3]\"; \n"
     "\n"
     "        x, d_k, = fx_pytree.tree_flatten_spec(([x, d], {}), "
     "self._in_spec)\n"
     "        # No stacktrace found for following nodes\n"
     "        w: \"f32[3]\" = self.fc.w\n"
     "        _guards_fn = self._guards_fn(x, d_k);  _guards_fn = None\n"
     "        add: \"f32[s77, 3]\" = torch.ops.aten.add.Tensor(x, d_k);  "
     "x = d_k = None\n"
     "        mul = torch.ops.aten.mul.Tensor(add, w);  add = w = None\n"
     "        return pytree.tree_unflatten((mul, 2.0), self._out_spec)\n",
     "graph():\n"
     "    %x : [num_users=2] = placeholder[target=x]\n"
     "    %d_k : [num_users=2] = placeholder[target=d_k]\n"
     "    %w : [num_users=1] = get_attr[target=fc.w]\n"
     "    %_guards_fn : [num_users=0] = call_module[target=_guards_fn](args = "
     "(%x, %d_k), kwargs = {})\n"
     "    %add : [num_users=1] = call_function[target=torch.ops.aten.add."
     "Tensor](args = (%x, %d_k), kwargs = {})\n"
     "    %mul : [num_users=1] = call_function[target=torch.ops.aten.mul."
     "Tensor](args = (%add, %w), kwargs = {})\n"
     "    return (mul, 2.0)"},
    /* Traces whose arguments are dicts and tuples flatten the module, too. */
    {"def forward(self, d, k):\n"
     "    self, d_1, d_2, k, = fx_pytree.tree_flatten_spec([self, d, k], "
     "self._in_spec)\n"
     "    mul = d_2 * complex('inf');  d_2 = None\n"
     "    add = d_1 + mul;  d_1 = mul = None\n"
     "    add_1 = add + complex('-1e3-nanj');  add = None\n"
     "    sub = add_1 - k;  add_1 = k = None\n"
     "    return pytree.tree_unflatten([sub], self._out_spec)\n",
     "graph():\n"
     "    %d_1 : [num_users=1] = placeholder[target=d_1]\n"
     "    %d_2 : [num_users=1] = placeholder[target=d_2]\n"
     "    %k : [num_users=1] = placeholder[target=k]\n"
     "    %mul : [num_users=1] = call_function[target=operator.mul](args = "
     "(%d_2, (inf+0j)), kwargs = {})\n"
     "    %add : [num_users=1] = call_function[target=operator.add](args = "
     "(%d_1, %mul), kwargs = {})\n"
     "    %add_1 : [num_users=1] = call_function[target=operator.add](args = "
     "(%add, (-1000+nanj)), kwargs = {})\n"
     "    %sub : [num_users=1] = call_function[target=operator.sub](args = "
     "(%add_1, %k), kwargs = {})\n"
     "    return [sub]"},
    /* print(program) has a signature of what is state. */
    {"ExportedProgram:\n"
     "    class GraphModule(torch.nn.Module):\n"
     "        def forward(self, p_fc_weight: \"f32[2, 3]\", b_b: \"f32[2]\", "
     "x: \"f32[s77, 3]\"):\n"
     "            # File: m.py:1 in forward, code: return self.fc(x) * self.b\n"
     "            linear: \"f32[s77, 2]\" = torch.ops.aten.linear.default(x, "
     "p_fc_weight);  x = p_fc_weight = None\n"
     "    \n"
     "            mul = torch.ops.aten.mul.Tensor(linear, b_b);  linear = b_b "
     "= None\n"
     "            return (mul,)\n"
     "    \n"
     "Graph signature: \n"
     "    # inputs\n"
     "    p_fc_weight: PARAMETER target='fc.weight'\n"
     "    b_b: BUFFER target='b' persistent=True\n"
     "    x: USER_INPUT\n"
     "    \n"
     "    # outputs\n"
     "    mul: USER_OUTPUT\n"
     "    \n"
     "Range constraints: {s77: VR[0, int_oo]}\n",
     "graph():\n"
     "    %p_fc_weight : [num_users=1] = get_attr[target=fc.weight]\n"
     "    %b_b : [num_users=1] = get_attr[target=b]\n"
     "    %x : [num_users=1] = placeholder[target=x]\n"
     "    %linear : [num_users=1] = call_function[target=torch.ops.aten.linear."
     "default](args = (%x, %p_fc_weight), kwargs = {})\n"
     "    %mul : [num_users=1] = call_function[target=torch.ops.aten.mul."
     "Tensor](args = (%linear, %b_b), kwargs = {})\n"
     "    return (mul,)"},
    {"from my.ops import f as my_f\n" DEF
     "    a = -x;  b = 2 ** y;  c = x % y;  d = x @ y\n"
     "    e = my_f(a, [b, (c,)], k = 'x=1')\n    return d",
     "graph():\n"
     "    %x : [num_users=3] = placeholder[target=x]\n"
     "    %y : [num_users=3] = placeholder[target=y]\n"
     "    %a : [num_users=1] = call_function[target=operator.neg](args = "
     "(%x,), kwargs = {})\n"
     "    %b : [num_users=1] = call_function[target=operator.pow](args = "
     "(2, %y), kwargs = {})\n"
     "    %c : [num_users=1] = call_function[target=operator.mod](args = "
     "(%x, %y), kwargs = {})\n"
     "    %d : [num_users=1] = call_function[target=operator.matmul](args = "
     "(%x, %y), kwargs = {})\n"
     "    %e : [num_users=0] = call_function[target=my.ops.f](args = (%a, "
     "[%b, (%c,)]), kwargs = {k: x=1})\n"
     "    return d"},
};

enum { NWRITTEN = sizeof(written) / sizeof(written[0]) };

TEST_EACH(code_that_people_write_is_read, NWRITTEN)
{
    cfx_module *gm;
    cfx_buf have;
    if (read_code(&gm, written[_i].code, strlen(written[_i].code)))
        ck_abort_msg("%s", err.text);
    cfx_buf_init(&have, ctx);
    cfx_print_graph(cfx_sink_buf(&have), cfx_graph_module_graph(gm), false,
                    &err);
    ck_assert_str_eq(cfx_buf_str(&have), written[_i].graph);
    cfx_buf_release(&have);
    cfx_module_unref(gm);
}

/* ---- What is refused ---- */

static const struct {
    const char *code, *message;
} bad[] = {
    {"", "m.py:1:1: the code has no 'def forward'"},
    {"x = 1\n", "m.py:1:1: the code has no 'def forward'"},
    {CLASS "    pass\n", "m.py:1:1: the code has no 'def forward'"},
    {"print(1)\n", "m.py:1:1: 'print' stands where a class or 'def forward' "
                   "should"},
    {DEF, "m.py:2:1: forward has no body"},
    {DEF DEF "    return x\n", "m.py:2:1: forward has no body"},
    {DEF "    return z\n", "m.py:2:12: z is not defined"},
    {DEF "    return x\n    return y\n",
     "m.py:3:5: the code ended with its 'return'"},
    {DEF "    if x:\n        return y\n",
     "m.py:2:5: 'if' stands where an assignment or 'return' should: forward is "
     "straight-line code"},
    {DEF "    with torch.no_grad():\n        a = x + y\n    return a\n",
     "m.py:2:5: 'with' stands where an assignment or 'return' should: forward "
     "is straight-line code"},
    {DEF "    a = x + y\n        b = a + x\n    return b\n",
     "m.py:3:9: the indentation changes: forward is straight-line code"},
    {DEF "    a = x + y * 2\n", "m.py:2:15: '*' stands where the end of the "
                                "statement should"},
    {DEF "    a = torch.relu(x + y)\n", "m.py:2:22: '+' stands where ')' "
                                        "should"},
    {DEF "    a = torch.relu(x.T)\n", "m.py:2:20: x.T is not defined"},
    {DEF "    a = x.T.T\n", "m.py:2:12: a statement holds one operation: T "
                            "should have a statement of its own"},
    {DEF "    b = x + y\n    a = x\n",
     "m.py:3:9: an operation should stand here: x has a "
     "name already"},
    {DEF "    a = 3\n    return a\n", "m.py:2:10: the line ends where an "
                                      "operator should stand"},
    {DEF "    a = x + y;  x = None\n    b = x + y\n",
     "m.py:3:9: x is not defined"},
    {DEF "    a = x + y\n    a = x * y\n",
     "m.py:3:5: a is defined twice: a node has one name"},
    {DEF "    z = None\n", "m.py:2:5: z is not defined"},
    {DEF "    x <= y\n", "m.py:2:7: '<=' stands where '=' should"},
    {DEF "    a = [i for i in x]\n", "m.py:2:10: i is not defined"},
    {DEF "    a = (lambda: x)()\n", "m.py:2:10: lambda is not defined"},
    {DEF "    a = torch.cat([x, y]\n    return a\n",
     "m.py:3:5: 'return' stands where ')' should"},
    {DEF "    a = torch.cat('x\n    return a\n",
     "m.py:2:19: the string does not end"},
    {DEF "    a = torch.f(k = 1, x)\n",
     "m.py:2:16: an argument without a name follows one that has one"},
    {DEF "    a = torch.f(*x)\n", "m.py:2:17: the character has no meaning "
                                  "here"},
    {DEF "    a = self\n", "m.py:2:9: self is the module: its attributes have "
                           "names"},
    {DEF "    a = getattr(self, y)\n",
     "m.py:2:23: 'y' stands where the name of an attribute should"},
    {DEF "    a.b = x\n", "m.py:2:5: 'a.b' stands where an assignment or "
                          "'return' should"},
    {DEF "    a = x if y else x\n", "m.py:2:11: 'if' stands where an operator "
                                    "should"},
    {"def forward(self, x, x):\n    return x\n",
     "m.py:1:22: the parameter x stands there twice"},
    {"def forward(self, x: ):\n    return x\n",
     "m.py:1:22: ')' stands where a type should"},
    {"def forward(self, x : List[int):\n    return x\n",
     "m.py:3:1: the text ends where ',' should stand"},
    {"def forward(self, x) -> :\n    return x\n",
     "m.py:1:25: ':' stands where a type should"},
    {CLASS "    def forward(self, x):\n        return x\n" CLASS,
     "m.py:4:7: a file has one model: this is the second"},
    {CLASS "    def forward(self, x):\n        return x\n"
           "    def forward(self, x):\n        return x\n",
     "m.py:4:9: forward stands there twice"},
    {CLASS "    x = 1\n", "m.py:2:5: 'x' stands where a method or class "
                          "should"},
    {"ExportedProgram:\n"
     "    class GraphModule(torch.nn.Module):\n"
     "        def forward(self, b_n: \"f32[3]\"):\n"
     "            add = torch.ops.aten.add.Tensor(b_n, 1);  b_n = None\n"
     "            return (add, add)\n"
     "Graph signature: \n"
     "    b_n: BUFFER target='n' persistent=True\n"
     "    add: BUFFER_MUTATION target='n'\n"
     "    add: USER_OUTPUT\n",
     "m.py:8:16: the program writes to its state or inputs, and this text has "
     "them among its results: take program.module().print_readable(), or save "
     "it with torch.export.save"},
    {"class M\n    def forward(self): return\n",
     "m.py:1:7: ':' should end the line of a class"},
};

enum { NBAD = sizeof(bad) / sizeof(bad[0]) };

TEST_EACH(bad_code_is_refused_with_its_place, NBAD)
{
    cfx_module *gm;
    cfx_status st = read_code(&gm, bad[_i].code, strlen(bad[_i].code));
    ck_assert_ptr_null(gm);
    ck_assert_int_ne(st, CFX_OK);
    ck_assert_str_eq(err.text, bad[_i].message);
}

TEST_CASE(deep_code_is_refused)
{
    static const char *const parts[][2] = {
        {"(", "    return "}, {"getattr(", "    a = "}, {"[", "    a = x["}};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        cfx_module *gm;
        cfx_buf b;
        cfx_buf_init(&b, ctx);
        cfx_buf_puts(&b, DEF);
        cfx_buf_puts(&b, parts[i][1]);
        for (int n = 0; n < 100000; n++)
            cfx_buf_puts(&b, parts[i][0]);
        cfx_buf_puts(&b, i == 1 ? "self" : "");
        ck_assert_int_eq(read_code(&gm, b.s, b.len), CFX_EPARSE);
        cfx_buf_clear(&b);
        for (int n = 0; n < 1000; n++) {
            cfx_buf_repeat(&b, ' ', (size_t)n);
            cfx_buf_printf(&b, "class M%d(torch.nn.Module):\n", n);
        }
        ck_assert_int_eq(read_code(&gm, b.s, b.len), CFX_EPARSE);
        cfx_buf_release(&b);
    }
}

/* ---- Memory and pieces ---- */

static const char whole[] =
    "from my.ops import f as my_f\n\n" CLASS
    "    def forward(self, input : typing_List[typing_Union[int,NoneType]], "
    "y: \"f32[s0, 3]\", *args) -> torch.Tensor:\n"
    "        input_1 = input\n"
    "        # a comment\n"
    "        a: \"f32[s0, 3]\" = torch.relu(input_1);  input_1 = None\n"
    "        a += y;  iadd = a;  a = y = None\n"
    "        m = getattr(self.layers, \"0\")(iadd, k = {'a': [1, -2.5]})\n"
    "        m[0, 1:2] = -1;  setitem = m\n"
    "        s = m.size(0);  n = my_f(s, slice(None, s, None))\n"
    "        p, q = torch.split(n, 2)\n"
    "        return (p, [q, iadd])\n\n"
    "    class inner(torch.nn.Module):\n"
    "        def forward(self, z):\n"
    "            return z\n";

TEST_CASE(each_failed_allocation_is_told_by_the_reader)
{
    cfx_module *gm;
    for (long n = 0;; n++) {
        allowed = n;
        cfx_status st = read_code(&gm, whole, strlen(whole));
        allowed = -1;
        if (!st)
            break;
        ck_assert_ptr_null(gm);
        ck_assert_msg(st == CFX_ENOMEM, "%ld: %s", n, err.text);
        ck_assert_int_eq(err.code, CFX_ENOMEM);
    }
    ck_assert_ptr_nonnull(cfx_module_child(gm, "inner"));
    cfx_module_unref(gm);
}

TEST_CASE(code_cut_at_any_byte_is_survived)
{
    for (size_t n = 0; n <= strlen(whole); n++) {
        /* A copy of its own, so that reading behind its end is seen. */
        char *copy = malloc(n ? n : 1);
        cfx_module *gm;
        memcpy(copy, whole, n);
        cfx_status st = read_code(&gm, copy, n);
        free(copy);
        ck_assert(!st == (gm != NULL));
        ck_assert(!st || (*err.text && !strchr(err.text, '\n')));
        cfx_module_unref(gm);
    }
}


TEST_SUITE(python, .setup = setup, .teardown = teardown, .timeout = 600)
