/*
 * machine_team.h -- threads that do the same loop at the same time, again and
 * again. Not installed.
 *
 * What all members do between two barriers is a piece. A sample is one piece,
 * or a window of several that follow each other without a pause: its rate is
 * their work over the time from the first to begin to the last to end.
 */
#ifndef CFX_MACHINE_TEAM_H
#define CFX_MACHINE_TEAM_H

#include <stdatomic.h>

#include "shapeprop/machine/machine_impl.h"

enum { CFX_TEAM_PIECES = 4096 };

/* When one member began and ended a piece. */
typedef struct cfx_team_member {
    _Alignas(64) int64_t begin, end;
} cfx_team_member;

/* A piece of all members. */
typedef struct cfx_team_piece {
    int64_t begin, end;     /* ns */
    double work;
} cfx_team_piece;

typedef struct cfx_team {
    cfx_context *ctx;       /* whose pool has exactly these threads */
    int n;
    cfx_team_member *member;
    char *sinks;
    char *block;            /* what is walked: a slice for each member */
    size_t slice;
    const cfx_machine_hardware *hw;

    _Alignas(64) _Atomic(int64_t) arrived; /* at all barriers so far */
    _Alignas(64) atomic_bool given_up;

    /* The loop: one of the two. */
    const cfx_machine_arithmetic *arithmetic;
    cfx_machine_pass *pass;
    size_t bytes, apart;    /* of a pass */
    size_t at;              /* where in the slices the next piece is */
    size_t stride, reach;   /* from piece to piece, up to here; or 0: the same
                               again, in as many rounds as take long enough */
    double work;            /* of one member in a round */
    int window;             /* pieces of a sample */
    int cold;               /* so many pieces more do not count, if there is
                               time */
    int64_t share_ns;       /* about how long all may take, */
    int64_t most_ns;        /* and where it ends without a whole sample */

    /* Of all runs: ns that the members had a processor, and could have. */
    double had_ns, wanted_ns;

    int64_t rounds;
    int64_t began;
    double best_round;      /* ns */
    bool done;
    int npieces;
    cfx_team_piece piece[CFX_TEAM_PIECES];
    double sample[CFX_TEAM_PIECES]; /* work of all in a second */
} cfx_team;

/* What samples tell. */
typedef struct cfx_team_result {
    double best;            /* work in a second, to four digits */
    double spread;          /* (best - median) / best */
    bool cut;               /* the time ended before the first window did */
} cfx_team_result;

/* Time the loop that is set. False: the threads cannot be had. */
bool cfx_team_run(cfx_team *t, cfx_team_result *out);

/* What the pieces so far tell; there is one at least. */
cfx_team_result cfx_team_judge(cfx_team *t);

#endif
