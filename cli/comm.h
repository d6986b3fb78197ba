/*
 * comm.h -- options of commands that run on several ranks.
 */
#ifndef CLI_COMM_H
#define CLI_COMM_H

#include <cfx/comm.h>

#include "cli.h"

typedef struct cli_comm_options {
    const char *name;
    cli_list groups;
    double timeout;
} cli_comm_options;

#define CLI_COMM_OPTIONS(type, member)                                                         \
    {CLI_TEXT,                                                                                 \
     0,                                                                                        \
     "comm",                                                                                   \
     "NAME",                                                                                   \
     "run as one rank of a job: mpi (under mpirun or srun); rank 0 prints",                    \
     offsetof(type, member.name)},                                                             \
        {CLI_LIST,                                                                             \
         0,                                                                                    \
         "group",                                                                              \
         "NAME=RANK,RANK...",                                                                  \
         "with --comm: the ranks of a group that the model names; '0' are all",                \
         offsetof(type, member.groups)},                                                       \
    {                                                                                          \
        CLI_SECONDS, 0, "comm-timeout", "SECONDS",                                             \
            "with --comm: end the job if this rank waits for others for longer (default: 60)", \
            offsetof(type, member.timeout)                                                     \
    }

/* Load the communicator into c->ctx; nothing without --comm. */
cfx_status cli_comm_open(cli *c, const cli_comm_options *o, cfx_error *err);

/* The rank of this process, 0 without --comm. */
int cli_comm_rank(const cli *c);

/* Put the rank in place of "{rank}" in a text (NULL is allowed), or in all of a
 * list. The session owns the new texts. */
cfx_status cli_comm_text(cli *c, const char **text, cfx_error *err);
cfx_status cli_comm_list(cli *c, cli_list *texts, cfx_error *err);

#endif
