/*
 * machine_team.h -- threads that repeatedly run the same loop at the same time.
 * Not installed.
 *
 * A piece is the work of all members between two barriers. A sample is one
 * piece, or a window of consecutive pieces: its rate is their work over the
 * time from the first begin to the last end.
 */
#ifndef CFX_MACHINE_TEAM_H
#define CFX_MACHINE_TEAM_H

#include <stdatomic.h>

#include "shapeprop/machine/machine_impl.h"

enum { CFX_TEAM_PIECES = 4096 };

/* The times at which a member began and ended a piece. */
typedef struct cfx_team_member {
    _Alignas(64) int64_t begin, end;
} cfx_team_member;

/* A piece of all members. */
typedef struct cfx_team_piece {
    int64_t begin, end; /* ns */
    double work;
} cfx_team_piece;

typedef struct cfx_team {
    cfx_context *ctx; /* its pool has exactly these threads */
    int n;
    cfx_team_member *member;
    char *sinks;
    char *block; /* the data: a slice for each member */
    size_t slice;
    const cfx_machine_hardware *hw;

    _Alignas(64) _Atomic(int64_t) arrived; /* count at all barriers so far */
    _Alignas(64) atomic_bool given_up;

    /* The loop: exactly one is set. */
    const cfx_machine_arithmetic *arithmetic;
    cfx_machine_pass *pass;
    size_t bytes, apart;  /* of a pass */
    size_t at;            /* offset of the next piece in the slices */
    size_t stride, limit; /* from piece to piece, up to here; 0: the same
                               piece, in as many rounds as take long enough */
    double work;          /* of one member in a round */
    int window;           /* pieces of a sample */
    int cold;             /* extra pieces that do not count, if there is
                               time */
    int64_t share_ns;     /* approximate total time, */
    int64_t most_ns;      /* and its limit, even without a whole sample */

    /* Processor time of the members, had and wanted, over all runs, in ns. */
    double had_ns, wanted_ns;

    int64_t rounds;
    int64_t began;
    double best_round; /* ns */
    bool done;
    int npieces;
    cfx_team_piece piece[CFX_TEAM_PIECES];
    double sample[CFX_TEAM_PIECES]; /* work of all members per second */
} cfx_team;

/* Statistics of the samples. */
typedef struct cfx_team_result {
    double best;   /* work per second, to four digits */
    double spread; /* (best - median) / best */
    bool cut;      /* the time ended before the first window */
} cfx_team_result;

/* Time the loop. False: the threads are not available. */
bool cfx_team_run(cfx_team *t, cfx_team_result *out);

/* Compute the statistics of the pieces so far, at least one. */
cfx_team_result cfx_team_judge(cfx_team *t);

#endif
