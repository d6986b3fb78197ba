/*
 * peer -- a process that measures the same rows in PyTorch (peer.py).
 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

static void become(const char *command, int threads, const int in[2],
                   const int out[2])
{
    char line[4096];

    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    close(in[1]);
    close(out[0]);
    snprintf(line, sizeof(line), "exec %s %d", command, threads);
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
}

bool bench_peer_start(bench_peer *p, const char *command, int threads)
{
    int in[2], out[2];

    /* If the peer ends, its missing answer reports it. */
    signal(SIGPIPE, SIG_IGN);
    if (pipe(in) || pipe(out) || (p->pid = (int)fork()) < 0) {
        perror("bench");
        return false;
    }
    if (p->pid == 0)
        become(command, threads, in, out);
    close(in[0]);
    close(out[1]);
    p->to = fdopen(in[1], "w");
    p->from = fdopen(out[0], "r");
    return p->to && p->from;
}

void bench_peer_stop(bench_peer *p)
{
    if (p->to)
        fclose(p->to);
    if (p->from)
        fclose(p->from);
    if (p->pid > 0)
        waitpid((pid_t)p->pid, NULL, 0);
    memset(p, 0, sizeof(*p));
}

static bool ask(bench_peer *p, char *answer)
{
    if (!fflush(p->to) && fgets(answer, BENCH_TEXT, p->from))
        return true;
    fprintf(stderr, "bench: the peer has ended\n");
    bench_peer_stop(p);
    return false;
}

bool bench_peer_load(bench_peer *p, const bench_row *row, const char *text)
{
    char answer[BENCH_TEXT];

    fprintf(p->to, "model %zu", strlen(text));
    for (int i = 0; i < row->ninputs; i++)
        fprintf(p->to, " %s", row->input[i]);
    fprintf(p->to, "\n%s", text);
    return ask(p, answer);
}

double bench_peer_run(bench_peer *p, bench_time time)
{
    char answer[BENCH_TEXT];

    fprintf(p->to, "run %f %f %s\n", time.seconds, time.part,
            time.processor ? "processor" : "wall");
    return ask(p, answer) ? atof(answer) : -1;
}

double bench_peer_graph(bench_peer *p, const char *row, size_t size,
                        bool processor)
{
    char answer[BENCH_TEXT];

    fprintf(p->to, "%s %zu %s\n", row, size, processor ? "processor" : "wall");
    return ask(p, answer) ? atof(answer) : -1;
}
