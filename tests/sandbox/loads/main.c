// The loads in C; the first line of stdin names the one to play.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char held[96 << 20];
static pthread_barrier_t all_here;

static void *wait_for_all(void *none) { pthread_barrier_wait(&all_here); return none; }
static int depth(int n) { volatile char frame[64]; frame[0] = 1; return n ? frame[0] + depth(n - 1) : 0; }

int main(void) {
    char name[32];
    if (scanf("%31s", name) != 1) return 2;
    if (!strcmp(name, "threads")) {
        pthread_t all[60];
        pthread_barrier_init(&all_here, 0, 61);
        for (int i = 0; i < 60; i++) if (pthread_create(all + i, 0, wait_for_all, 0)) return 3;
        pthread_barrier_wait(&all_here);
        for (int i = 0; i < 60; i++) pthread_join(all[i], 0);
        puts("threads 60");
    } else if (!strcmp(name, "recursion")) {
        printf("recursion %d\n", depth(50000));
    } else if (!strcmp(name, "files")) {
        int opened = 0;
        for (int i = 0; i < 100; i++) { sprintf(name, "file%d", i); opened += fopen(name, "w") != 0; }
        printf("files %d\n", opened);
    } else if (!strcmp(name, "arrays")) {
        int sum = 0;
        for (int i = 0; i < 8; i++) held[i << 23] = 1;
        for (int i = 0; i < 8; i++) sum += held[i << 23];
        printf("arrays %d\n", sum);
    } else if (!strcmp(name, "small_files")) {
        long sum = 0;
        struct stat found;
        mkdir("folder", 0777);
        for (int i = 0; i < 300; i++) {
            sprintf(name, "folder/%d", i);
            FILE *file = fopen(name, "w");
            if (!file) return 4;
            fprintf(file, "%0100d", 0);
            fclose(file);
            sum += stat(name, &found) ? 0 : found.st_size;
        }
        printf("small_files %ld\n", sum);
    }
}
