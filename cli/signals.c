/*
 * signals -- stop the program on signals and at the time limit.
 *
 * A first signal, like the time limit, only cancels the context: work ends with
 * CFX_ECANCEL or CFX_ELIMIT, and incomplete files are removed. A second signal
 * ends the program at once. Code that does not check the context (a library
 * that parses text, freeing a large block) has GRACE milliseconds before the
 * program ends anyway.
 *
 * SIGPIPE is ignored while there is work, so that other outputs become whole;
 * then it ends the program if nobody reads stdout, as it ends other tools.
 * SIGXFSZ is ignored, so that a file that exceeds the size limit is a failed
 * write. SIGBUS is sent when a mapped file has become shorter.
 */
#define _GNU_SOURCE 1
#include "cli.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { GRACE = 150 };

/* The only state that handlers use. */
static struct {
    cfx_context *ctx;
    const cli *c;
    char late[128]; /* printed when the grace period ends */
} watched;
static volatile sig_atomic_t signalled;
static atomic_flag ending = ATOMIC_FLAG_INIT;

/* Exit at once, after a line on stderr if `line` is not NULL; a reader that
 * does not read does not block this. The output file has no name yet, or is
 * removed here. Temporary files of folders, and other outputs on file systems
 * without O_TMPFILE, are left. Several threads may call this, each once:
 * handlers block signals. */
static void end_at_once(int status, const char *line)
{
    const char *half = watched.c->file.temporary;
    struct pollfd to = {.fd = STDERR_FILENO, .events = POLLOUT};

    while (atomic_flag_test_and_set(&ending))
        pause();
    if (line && poll(&to, 1, 0) == 1 && (to.revents & POLLOUT) &&
        write(STDERR_FILENO, line, strlen(line)) < 0)
        status = CLI_FAILED;
    if (half && *half)
        unlink(half);
    _exit(status);
}

static void watch(double seconds)
{
    long us = (long)(seconds * 1e6);
    struct itimerval t = {
        .it_value = {.tv_sec = us / 1000000, .tv_usec = us % 1000000}};

    setitimer(ITIMER_REAL, &t, NULL);
}

static void on_signal(int number)
{
    if (signalled)
        end_at_once(128 + number, NULL);
    signalled = number;
    cfx_context_cancel(watched.ctx);
    watch(GRACE / 1e3);
}

static void on_alarm(int number)
{
    (void)number;
    if (signalled)
        end_at_once(128 + signalled, NULL);
    end_at_once(CLI_FAILED, watched.late);
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code == BUS_ADRERR)
        end_at_once(
            CLI_FAILED,
            "cfx: a file that is mapped became shorter while it was read (--no-mmap reads it instead)\n");
    signal(number, SIG_DFL); /* the next one ends the program */
}

static void set_stopping(void (*handler)(int))
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = handler}, old;

    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        /* Signals that were ignored at the start (nohup) stay ignored. */
        if (!sigaction(numbers[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

void cli_ignore_signals(void)
{
    /* A closed pipe and a file that exceeds the size limit are failed
     * writes. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

void cli_catch_signals(const cli *c)
{
    struct sigaction action = {.sa_handler = on_alarm};

    watched.ctx = c->ctx;
    watched.c = c;
    snprintf(watched.late, sizeof(watched.late),
             "cfx: the time limit of %g s is reached\n", c->g.timeout);
    sigfillset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    action = (struct sigaction){.sa_sigaction = on_bus_error,
                                .sa_flags = SA_SIGINFO};
    sigfillset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
    set_stopping(on_signal);
    if (c->g.timeout > 0 && c->g.timeout < 1e6)
        watch(c->g.timeout + GRACE / 1e3);
}

void cli_end_of_pipe(void)
{
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
}

int cli_signalled(void)
{
    return signalled;
}

void cli_release_signals(void)
{
    watch(0);
    set_stopping(SIG_IGN);
}
