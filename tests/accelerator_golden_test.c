/*
 * accelerator_golden_test -- graphs go where torch's accelerator partitioner
 * puts them (oracle/accelerator_golden.py wrote golden/accelerator.txt).
 */
#include "accelerator_test.h"

#include <inttypes.h>

static void read_sizes(const char *text, const cfx_graph *of,
                       cfx_node_size *size, cfx_node_latency *latency)
{
    char name[100];
    int len;
    uint64_t output, total;
    double memory, compute;
    for (; sscanf(text, "%99s %" SCNu64 " %" SCNu64 " %lf %lf%n", name,
                  &output, &total, &memory, &compute, &len) == 5;
         text += len) {
        uint32_t id = cfx_graph_find(of, name)->id;
        size[id] = (cfx_node_size){output, total};
        latency[id] = (cfx_node_latency){memory, compute};
    }
}

static size_t read_devices(const char *text, cfx_device *device)
{
    size_t n = 0;
    int len;
    for (; sscanf(text, "%" SCNu64 " %" SCNd64 "%n", &device[n].memory,
                  &device[n].id, &len) == 2; text += len)
        device[n++].name = "dev";
    return n;
}

static size_t read_given(char *text, const cfx_graph *of, int64_t *part_of,
                         cfx_part_devices *given, int64_t (*id)[4])
{
    size_t n = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char name[100];
        int64_t part;
        int len;
        ck_assert_int_eq(sscanf(line, "%99s %" SCNd64 "%n", name, &part, &len),
                         2);
        if (strcmp(name, "@")) {
            part_of[cfx_graph_find(of, name)->id] = part;
            continue;
        }
        given[n] = (cfx_part_devices){.part = part, .id = id[n]};
        for (line += len; sscanf(line, "%" SCNd64 "%n", &part, &len) == 1;
             line += len)
            id[n][given[n].n++] = part;
        n++;
    }
    return n;
}

static cfx_place_mode mode_of(const char *words)
{
    static const char *const names[] = {"size_based", "sparse_nn",
                                        "cost_aware", "kl_based", "aot_based"};
    int i = 0;
    while (strncmp(words, names[i], strlen(names[i])))
        i++;
    return (cfx_place_mode)i;
}

static const cfx_placed *part_at(const cfx_placement *p, int64_t number)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->item[i].part == number)
            return &p->item[i];
    return NULL;
}

static void print_result(golden_text *to, const cfx_placement *p)
{
    char line[200];
    assert_ok(cfx_print_placement((cfx_sink){into_text, to}, p, &err));
    snprintf(line, sizeof(line), "latency %.6g\n", p->latency);
    golden_puts(to, line);
    for (int64_t i = 0; part_at(p, i); i++) {
        const cfx_placed *at = part_at(p, i);
        snprintf(line, sizeof(line), "part %" PRId64 " %.6g", i,
                 at->latency.overall);
        golden_puts(to, line);
        for (size_t k = 0; k < at->n; k++) {
            golden_puts(to, " ");
            golden_puts(to, at->node[k]->name);
        }
        golden_puts(to, "\n");
    }
}

/* Swaps never make it slower. */
static void check_swaps(const cfx_placement *by_size, cfx_module *gm,
                        const cfx_device *device, size_t n,
                        cfx_place_options o)
{
    cfx_placement p;
    o.mode = CFX_KL_BASED;
    assert_ok(cfx_place_on_devices(&p, gm, device, n, &o, &err));
    ck_assert(p.latency <= by_size->latency);
    check_graph(cfx_graph_module_graph(p.gm));
    cfx_placement_release(&p);
}

static void check_case(const char *words, golden_section *s)
{
    static cfx_node_size size[100];
    static cfx_node_latency latency[100];
    static int64_t part_of[100], id[8][4];
    cfx_part_devices given[8];
    cfx_device device[8];
    golden_section at = *s;
    cfx_module *gm = parse(at.text);
    const cfx_graph *of = cfx_graph_module_graph(gm);
    ck_assert(golden_next(&at, at.next));
    read_sizes(at.text, of, size, latency);
    ck_assert(golden_next(&at, at.next));
    size_t n = read_devices(at.text, device);
    ck_assert(golden_next(&at, at.next));
    cfx_place_options o = {
        .size = sizeof(o), .mode = mode_of(words), .sizes = size,
        .latency = latency, .part_of = part_of, .part_devices = given,
        .transfer_rate = atof(strchr(words, ' ')),
        .saturate_host = strstr(words, "saturate"),
    };
    o.npart_devices = read_given(at.text, of, part_of, given, id);
    ck_assert(golden_next(&at, at.next));
    cfx_placement p;
    cfx_status st = cfx_place_on_devices(&p, gm, device, n, &o, &err);
    if (!strcmp(at.name, "error")) {
        ck_assert_int_eq(st, CFX_EINVAL);
        at.text[strcspn(at.text, "\n")] = '\0';
        ck_assert_str_eq(err.text, at.text);
        memset(&err, 0, sizeof(err));
    } else {
        static golden_text got;
        assert_ok(st);
        got.len = 0;
        print_result(&got, &p);
        got.s[got.len - 1] = '\0';
        at.text[strlen(at.text) - !at.next] = '\0';
        if (strcmp(got.s, at.text))
            ck_abort_msg("%s: got\n%s\nwant\n%s", words, got.s, at.text);
        if (o.mode == CFX_SIZE_BASED)
            check_swaps(&p, gm, device, n, o);
    }
    cfx_placement_release(&p);
    cfx_module_unref(gm);
    s->next = at.next;
}

START_TEST(graphs_go_where_torch_puts_them)
{
    char *all = golden_read("accelerator.txt");
    golden_section s = {.next = all};
    size_t start = cfx_context_memory(ctx);
    int cases = 0;
    for (; golden_next(&s, s.next); cases++) {
        const char *words = s.words;
        ck_assert(golden_next(&s, s.next));
        check_case(words, &s);
    }
    ck_assert_int_eq(cases, 56);
    /* What the context reads once stays with it. */
    held_before += cfx_context_memory(ctx) - start;
    free(all);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("accelerator_golden");
    TCase *c = tcase_create("accelerator_golden");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, graphs_go_where_torch_puts_them);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failures = srunner_ntests_failed(r);
    srunner_free(r);
    return failures != 0;
}
