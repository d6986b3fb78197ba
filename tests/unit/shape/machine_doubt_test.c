/*
 * machine_doubt_test -- what samples of times tell, and which measurements are
 * doubtful.
 */
#include "shapeprop/machine/machine_team.h"

#include "tests/unit/shape/machine_test.h"
#include "tests/unit/unit.h"

/* ---- Samples, of times that are made up ---- */

enum { PIECES = 40 };

/* Pieces of 100 units and 100 ns each, one after the other. */
static cfx_team *even_pieces(int window)
{
    static cfx_team t;

    t = (cfx_team){.window = window, .npieces = PIECES};
    for (int i = 0; i < PIECES; i++)
        t.piece[i] = (cfx_team_piece){100 * i, 100 * i + 100, 100};
    return &t;
}

TEST_CASE(samples_of_one_piece_take_the_best)
{
    cfx_team *t = even_pieces(1);

    t->piece[7].end -= 50;
    cfx_team_result r = cfx_team_judge(t);
    ck_assert_double_eq_tol(r.best, 2e9, 1e6);
    ck_assert_double_eq_tol(r.spread, 0.5, 0.001);
    ck_assert(!r.cut);
}

/* A cache takes the stores of a piece, and memory gets them later. */
TEST_CASE(a_window_counts_what_a_piece_leaves_to_the_next)
{
    cfx_team *t = even_pieces(10);

    t->piece[20].end -= 90;
    t->piece[21].begin -= 90;
    ck_assert_double_eq_tol(cfx_team_judge(t).best, 1e9 * 1000 / 910, 1e6);
}

TEST_CASE(a_pause_is_a_part_of_a_window)
{
    cfx_team *t = even_pieces(10);

    for (int i = 0; i < PIECES; i++) {
        t->piece[i].begin += 1000 * (i / 5);
        t->piece[i].end += 1000 * (i / 5);
    }
    ck_assert_double_eq_tol(cfx_team_judge(t).best, 5e8, 1e6);
    t->window = 5;
    ck_assert_double_eq_tol(cfx_team_judge(t).best, 1e9, 1e6);
}

TEST_CASE(a_window_that_does_not_end_is_told)
{
    cfx_team *t = even_pieces(PIECES + 1);
    cfx_team_result r = cfx_team_judge(t);

    ck_assert(r.cut);
    ck_assert_double_eq_tol(r.best, 1e9, 1e6);
    t->window = PIECES;
    ck_assert(!cfx_team_judge(t).cut);
    t->cold = 1;
    ck_assert(cfx_team_judge(t).cut);
}

/* ---- Doubts ---- */

/* A machine without any, and what is changed in it. */
static const char sound[] =
    "{\"schema\": \"cfx.machine/1\", \"name\": \"Sound\", \"cores\": 2,"
    " \"threads\": [{\"threads\": 2, \"peak_flops_per_second\":"
    "   {\"float32\": 1e11}, \"peak_spread\": {\"float32\": 0.25},"
    "  \"levels\": ["
    "   {\"level\": \"L2\", \"bytes\": 1048576, \"read_bytes_per_second\":"
    "    200e9, \"write_bytes_per_second\": 80e9, \"spread\": 0.3},"
    "   {\"level\": \"L3\", \"bytes\": 33554432, \"read_bytes_per_second\":"
    "    90e9, \"write_bytes_per_second\": 60e9},"
    "   {\"level\": \"memory\", \"read_bytes_per_second\": 42e9,"
    "    \"write_bytes_per_second\": 41e9, \"triad_bytes_per_second\": 51e9,"
    "    \"update_bytes_per_second\": 55e9}]}]}";

static const struct {
    const char *from, *to, *says;
} doubts[] = {
    {"41e9", "42e9", ""},
    {"42e9", "95e9", ""}, /* within what repeats differ by */
    {"42e9", "105e9",
     "at 2 threads the read of memory reaches 105 GB/s, of "
     "L3 only 90"},
    {"41e9", "185e9",
     "at 2 threads the write of memory reaches 185 GB/s, of "
     "L3 only 60"},
    {"60e9}", "null}", ""},
    {"90e9", "230e9",
     "at 2 threads the read of L3 reaches 230 GB/s, of L2 "
     "only 200"},
    {"80e9", "20e9",
     "at 2 threads the write of L3 reaches 60 GB/s, of L2 "
     "only 20"},
    {"0.3}", "0.51}", "at 2 threads the repeats of L2 are 51 % apart"},
    {"0.25", "0.75", "at 2 threads the repeats of float32 are 75 % apart"},
};

/* The text above, with the first `from` replaced. */
static cfx_machine *altered(const char *from, const char *to)
{
    char text[sizeof(sound) + 64];
    const char *at = strstr(sound, from);

    ck_assert_ptr_nonnull(at);
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - sound), sound, to,
             at + strlen(from));
    return described(text);
}

TEST_EACH(what_contradicts_itself_is_doubtful,
          (int)(sizeof(doubts) / sizeof(*doubts)))
{
    cfx_machine *m = altered(doubts[_i].from, doubts[_i].to);
    char why[CFX_MACHINE_TEXT];

    ck_assert_int_eq(cfx_machine__doubt(why, m), doubts[_i].says[0] != '\0');
    ck_assert_str_eq(why, doubts[_i].says);
    cfx_machine_free(m);
}

TEST_CASE(memory_is_not_written_faster_than_all_else)
{
    cfx_machine *m = described(sound);
    cfx_machine_level *memory = &m->rates[0].level[2];
    char why[CFX_MACHINE_TEXT];

    memory[-1].rate[CFX_MACHINE_WRITE] = 0;
    memory->rate[CFX_MACHINE_WRITE] = 68e9;
    ck_assert(!cfx_machine__doubt(why, m));
    memory->rate[CFX_MACHINE_WRITE] = 97e9;
    ck_assert(cfx_machine__doubt(why, m));
    ck_assert_str_eq(why, "at 2 threads the write of memory reaches 97 GB/s, "
                          "its reads only 55");
    cfx_machine_free(m);
}

TEST_CASE(a_busy_machine_and_a_short_time_are_doubtful)
{
    cfx_machine *m = described(sound);
    cfx_machine_box *box = (cfx_machine_box *)m;
    char why[CFX_MACHINE_TEXT];

    box->hurried = true;
    ck_assert(cfx_machine__doubt(why, m));
    ck_assert_str_eq(why, "time or memory was too short to exceed all "
                          "caches");
    box->busy = 0.05;
    ck_assert(cfx_machine__doubt(why, m));
    box->busy = 0.5;
    ck_assert(cfx_machine__doubt(why, m));
    ck_assert_str_eq(why, "other work used 50 % of the processors meanwhile");
    cfx_machine_free(m);
}

static int measured, doubtful_until;

static cfx_status pretend(cfx_machine **out, cfx_context *own, double seconds,
                          cfx_error *err)
{
    (void)own;
    (void)seconds;
    if (++measured == 3 && doubtful_until == 99) {
        *out = NULL;
        return cfx_fail(err, CFX_ECANCEL, "enough");
    }
    *out = altered("41e9", measured < doubtful_until ? "185e9" : "41e9");
    return CFX_OK;
}

TEST_CASE(what_is_doubtful_is_measured_again)
{
    static const struct {
        int doubtful_until, measured;
        bool doubt;
    } run[] = {{1, 1, false},
               {2, 2, false},
               {3, 3, false},
               {4, 3, true},
               {50, 3, true}};
    char why[CFX_MACHINE_TEXT];
    cfx_machine *m;

    for (size_t i = 0; i < sizeof(run) / sizeof(*run); i++) {
        measured = 0;
        doubtful_until = run[i].doubtful_until;
        ck_assert_int_eq(
            cfx_machine__measure_surely(&m, ctx, 0, 3, pretend, why, &error),
            CFX_OK);
        ck_assert_int_eq(measured, run[i].measured);
        ck_assert_int_eq(why[0] != '\0', run[i].doubt);
        cfx_machine_free(m);
    }
    measured = 0;
    doubtful_until = 99;
    ck_assert_int_eq(
        cfx_machine__measure_surely(&m, ctx, 0, 3, pretend, why, &error),
        CFX_ECANCEL);
    ck_assert_ptr_null(m);
}

TEST_SUITE(machine_doubt, .setup = setup, .teardown = teardown)
