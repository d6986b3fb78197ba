/*
 * nearest -- "did you mean" by edit distance.
 */
#include <cfx/nearest.h>

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MOST = sizeof(((cfx_nearest *)0)->best) - 1 };

void cfx_nearest_init(cfx_nearest *n, const char *word, size_t len)
{
    n->word = word;
    n->len = len;
    n->best[0] = n->text[0] = '\0';
    n->distance = SIZE_MAX;
}

/* "torch.nn.functional.relu" gives "relu". */
static size_t last_part(const char *word, size_t len)
{
    size_t at = len;
    while (at && word[at - 1] != '.')
        at--;
    return at;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* The Damerau-Levenshtein distance, with the last three rows of the usual
 * table. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t row[3][MOST + 1];
    size_t *before = row[0], *last = row[1], *now = row[2];
    for (size_t k = 0; k <= nb; k++)
        last[k] = k;
    for (size_t i = 1; i <= na; i++) {
        now[0] = i;
        for (size_t k = 1; k <= nb; k++) {
            size_t replaced = last[k - 1] + !same(a[i - 1], b[k - 1]);
            now[k] = least(replaced, least(last[k], now[k - 1]) + 1);
            if (i > 1 && k > 1 && same(a[i - 1], b[k - 2]) &&
                same(a[i - 2], b[k - 1]))
                now[k] = least(now[k], before[k - 2] + 1);
        }
        size_t *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[nb];
}

void cfx_nearest_try(cfx_nearest *n, const char *candidate, size_t len)
{
    size_t a = last_part(n->word, n->len), b = last_part(candidate, len);
    size_t most = (n->len - a + 2) / 3;
    /* The last part of "aten.sum.default" is no name. */
    bool moved = a && n->len - a > 2 && n->len - a == len - b &&
                 !memcmp(n->word + a, candidate + b, len - b) &&
                 (len - b != 7 || memcmp(candidate + b, "default", 7)) &&
                 (len < 5 || memcmp(candidate, "aten.", 5));
    if (!len || n->len > MOST || len > MOST)
        return;
    size_t apart = n->len > len ? n->len - len : len - n->len;
    if (!moved && apart > most)
        return;
    size_t d = moved ? 0 : distance(n->word, n->len, candidate, len);
    if (d > most || d >= n->distance || (n->len == len && d == len))
        return;
    n->distance = d;
    memcpy(n->best, candidate, len);
    n->best[len] = '\0';
}

const char *cfx_nearest_text(cfx_nearest *n)
{
    if (n->best[0])
        snprintf(n->text, sizeof(n->text), "; did you mean '%s'?", n->best);
    return n->text;
}
