/*
 * replay -- each target reads its seeds, and what becomes of them by chance.
 *
 *     replay [-n TIMES] [-s SEED] SEEDS [TARGET...]
 *
 * SEEDS has a folder for each target. TIMES inputs are made of each seed: bytes
 * are set, left out, repeated, or taken from another seed. What a target does
 * not survive ends the program; the input is in the file replay.input then.
 */
#define _POSIX_C_SOURCE 200809L
#include "tests/fuzz/targets.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEEDS = 512, ROOM = 1 << 16, EDITS = 8 };

typedef struct seed {
    uint8_t *data;
    size_t size;
} seed;

static seed seeds[SEEDS];
static int nseeds;
static uint64_t state;

/* xorshift64*, of Vigna. */
static uint64_t chance(uint64_t n)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545F4914F6CDD1D % n;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void read_seed(const char *path)
{
    FILE *f = fopen(path, "rb");
    seed *s = &seeds[nseeds];

    if (!f || nseeds == SEEDS || !(s->data = malloc(ROOM)))
        die(path);
    s->size = fread(s->data, 1, ROOM, f);
    nseeds++;
    fclose(f);
}

static int is_file(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static void read_seeds(const char *folder)
{
    struct dirent **entry;
    int n = scandir(folder, &entry, is_file, alphasort);

    if (n <= 0)
        die(folder);
    for (int i = 0; i < n; i++) {
        char path[8192];
        snprintf(path, sizeof(path), "%s/%s", folder, entry[i]->d_name);
        read_seed(path);
        free(entry[i]);
    }
    free(entry);
}

/* Bytes, and a number that readers may take for a length. */
static uint8_t byte_by_chance(void)
{
    static const uint8_t some[] = {0,   1,   0x7f, 0x80, 0xff, '(',
                                   ')', '[', ']',  '{',  '}',  '"',
                                   ',', '-', '9',  '%',  '\n'};

    return chance(2) ? (uint8_t)chance(256) : some[chance(sizeof(some))];
}

/* Copy a piece of `from` over, or into, a place of `to`. */
static size_t put_piece(uint8_t *to, size_t size, const seed *from)
{
    if (!from->size)
        return size;
    size_t begin = chance(from->size), n = chance(from->size - begin) + 1;
    size_t at = chance(size + 1);

    if (size + n > ROOM)
        return size;
    memmove(to + at + n, to + at, size - at);
    memcpy(to + at, from->data + begin, n);
    return size + n;
}

/* Most changes keep to the target's grammar, if it has one. */
static size_t change(uint8_t *to, const seed *s, const fuzz_target *t)
{
    size_t size = s->size;

    memcpy(to, s->data, size);
    if (t->change && chance(8)) {
        for (uint64_t k = chance(EDITS) + 1; k > 0; k--)
            size = t->change(to, size, ROOM, &state);
        return size;
    }
    for (uint64_t k = chance(EDITS) + 1; k > 0; k--) {
        size_t at = size ? chance(size) : 0, n;
        switch (chance(4)) {
        case 0:
            if (size)
                to[at] = byte_by_chance();
            break;
        case 1:
            n = size ? chance(size - at < 64 ? size - at : 64) : 0;
            memmove(to + at, to + at + n, size - at - n);
            size -= n;
            break;
        case 2: size = put_piece(to, size, s); break;
        default: size = put_piece(to, size, &seeds[chance((uint64_t)nseeds)]);
        }
    }
    return size;
}

/* The input is on disk while it is read, since a crash tells nothing. */
static void keep(const uint8_t *data, size_t size)
{
    FILE *f = fopen("replay.input", "wb");

    if (!f || fwrite(data, 1, size, f) != size || fclose(f))
        die("replay.input");
}

static long run_target(const fuzz_target *t, const char *folder, long times)
{
    static uint8_t input[ROOM];
    char path[4096];
    long n = 0;

    nseeds = 0;
    snprintf(path, sizeof(path), "%s/%s", folder, t->name);
    read_seeds(path);
    for (int i = 0; i < nseeds; i++) {
        keep(seeds[i].data, seeds[i].size);
        fuzz_each_step = true;
        t->read(seeds[i].data, seeds[i].size);
        fuzz_each_step = false;
        n++;
        for (long k = 0; k < times; k++, n++) {
            size_t size = change(input, &seeds[i], t);
            uint8_t *exact = malloc(size + !size); /* reads beyond are seen */
            if (!exact)
                die("malloc");
            memcpy(exact, input, size);
            keep(exact, size);
            t->read(exact, size);
            free(exact);
        }
    }
    for (int i = 0; i < nseeds; i++)
        free(seeds[i].data);
    printf("%s: %ld inputs\n", t->name, n);
    fflush(stdout);
    return n;
}

int main(int argc, char **argv)
{
    long times = 100, done = 0;

    state = 1;
    for (int c; (c = getopt(argc, argv, "n:s:")) != -1;) {
        if (c == 'n')
            times = atol(optarg);
        else if (c == 's')
            state = strtoull(optarg, NULL, 10) * 2 + 1;
        else
            return 2;
    }
    if (optind >= argc) {
        fprintf(stderr, "usage: replay [-n TIMES] [-s SEED] SEEDS "
                        "[TARGET...]\n");
        return 2;
    }
    for (const fuzz_target *t = fuzz_targets; t->name; t++) {
        int wanted = optind + 1 == argc;
        for (int i = optind + 1; i < argc; i++)
            wanted |= !strcmp(argv[i], t->name);
        if (wanted)
            done += run_target(t, argv[optind], times);
    }
    unlink("replay.input");
    printf("%ld passed, 0 failed\n", done);
    return 0;
}
