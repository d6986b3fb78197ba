/*
 * program.h -- several test programs in one binary, since linking takes long:
 * `case_tests opcases FILE...` is what opcases_test.c does with the files.
 *
 *     TEST_PROGRAM(opcases)
 *     {
 *         return argc < 2 || !check(argv[1]);
 *     }
 *
 * is the main() of a file; argv[0] is its name.
 */
#ifndef CFX_PROGRAM_H
#define CFX_PROGRAM_H

struct test_program {
    const char *name;
    int (*run)(int argc, char **argv);
    struct test_program *next;
};

void program_add(struct test_program *p);

#define TEST_PROGRAM(name_)                                                   \
    static int program_run(int argc, char **argv);                            \
    static struct test_program program_here = {#name_, program_run, 0};       \
    __attribute__((constructor)) static void program_add_this(void)           \
    {                                                                         \
        program_add(&program_here);                                           \
    }                                                                         \
    static int program_run(int argc, char **argv)

#endif
