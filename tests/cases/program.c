/*
 * program.c -- the main() of test programs that share a binary: it runs the
 * one that the first argument names.
 */
#include "tests/cases/program.h"

#include <stdio.h>
#include <string.h>

static struct test_program *programs;

void program_add(struct test_program *p)
{
    p->next = programs;
    programs = p;
}

int main(int argc, char **argv)
{
    for (const struct test_program *p = programs; p && argc > 1; p = p->next)
        if (!strcmp(p->name, argv[1]))
            return p->run(argc - 1, argv + 1);
    fprintf(stderr, "usage: %s PROGRAM [ARGUMENT]...\nPROGRAM is one of",
            argv[0]);
    for (const struct test_program *p = programs; p; p = p->next)
        fprintf(stderr, " %s", p->name);
    fprintf(stderr, "\n");
    return 2;
}
