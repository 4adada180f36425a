/* SPDX-License-Identifier: Apache-2.0 */

/* The main() of a fuzz target in an ordinary build: runs each file of the
 * corpus through the target once, so that what a fuzzer has found stays a
 * test everywhere, also where there is no libFuzzer.
 *
 * Without arguments the corpus is $FUZZ_CORPUS/NAME of the program fuzz-NAME,
 * otherwise the arguments are files or directories.  One case is one file.
 * The plan is printed first, so that a crash shows as missing cases.  An empty
 * input is always the first case. */

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct corpus {
    char **files;
    size_t n;
};

static void
die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(2);
}

static char *
join(const char *dir, const char *sep, const char *name)
{
    size_t size = strlen(dir) + strlen(sep) + strlen(name) + 1;
    char *path = malloc(size);

    if (!path) {
        die("malloc");
    }
    snprintf(path, size, "%s%s%s", dir, sep, name);
    return path;
}

/* Takes ownership of 'path'. */
static void
corpus_add(struct corpus *corpus, char *path)
{
    char **files = realloc(corpus->files, (corpus->n + 1) * sizeof *files);

    if (!files) {
        die("realloc");
    }
    corpus->files = files;
    corpus->files[corpus->n++] = path;
}

static int
is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Sorted, so that the numbers of the cases do not depend on the machine. */
static void
corpus_add_dir(struct corpus *corpus, const char *dir)
{
    struct dirent **entries;
    int n = scandir(dir, &entries, is_visible, alphasort);

    if (n < 0) {
        die(dir);
    }
    for (int i = 0; i < n; i++) {
        corpus_add(corpus, join(dir, "/", entries[i]->d_name));
        free(entries[i]);
    }
    free(entries);
}

static void
corpus_add_argument(struct corpus *corpus, const char *path)
{
    struct stat st;

    if (stat(path, &st)) {
        die(path);
    }
    if (S_ISDIR(st.st_mode)) {
        corpus_add_dir(corpus, path);
    } else {
        corpus_add(corpus, join(path, "", ""));
    }
}

/* A target that has no corpus yet has just the empty input. */
static void
corpus_add_default(struct corpus *corpus, const char *argv0)
{
    const char *root = getenv("FUZZ_CORPUS");
    const char *slash = strrchr(argv0, '/');
    const char *name = slash ? slash + 1 : argv0;
    struct stat st;
    char *dir;

    if (!strncmp(name, "fuzz-", 5)) {
        name += 5;
    }
    dir = join(root ? root : "tests/fuzz/corpus", "/", name);
    if (!stat(dir, &st)) {
        corpus_add_dir(corpus, dir);
    }
    free(dir);
}

/* The buffer has just the size of the input, so that address sanitizers see a
 * read behind it. */
static uint8_t *
read_file(const char *path, size_t *sizep)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data;
    struct stat st;
    size_t size;

    if (!file || fstat(fileno(file), &st)) {
        die(path);
    }
    size = (size_t) st.st_size;
    data = malloc(size ? size : 1);
    if (!data) {
        die("malloc");
    }
    if (fread(data, 1, size, file) != size) {
        die(path);
    }
    fclose(file);
    *sizep = size;
    return data;
}

static void
run_empty(void)
{
    uint8_t *data = malloc(1);

    if (!data) {
        die("malloc");
    }
    LLVMFuzzerTestOneInput(data, 0);
    free(data);
}

int
main(int argc, char *argv[])
{
    struct corpus corpus = { NULL, 0 };

    if (argc > 1) {
        for (int i = 1; i < argc; i++) {
            corpus_add_argument(&corpus, argv[i]);
        }
    } else {
        corpus_add_default(&corpus, argv[0]);
    }

    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("1..%zu\n", corpus.n + 1);
    run_empty();
    printf("ok 1 - empty input\n");
    for (size_t i = 0; i < corpus.n; i++) {
        const char *slash = strrchr(corpus.files[i], '/');
        size_t size;
        uint8_t *data = read_file(corpus.files[i], &size);

        LLVMFuzzerTestOneInput(data, size);
        printf("ok %zu - %s\n", i + 2,
               slash ? slash + 1 : corpus.files[i]);
        free(data);
        free(corpus.files[i]);
    }
    free(corpus.files);
    return 0;
}
