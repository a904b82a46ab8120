// Calls each library of CUDA through its stand-in (late.c), by functions that need no device.
#include <stdio.h>

int cuInit(unsigned flags);
int cuGetErrorString(int error, const char **text);
int nvrtcVersion(int *major, int *minor);
int curandGetVersion(int *version);
int cublasGetProperty(int type, int *value);
size_t cublasLtGetVersion(void);

int main(void) {
  int major = 0, minor = 0, curand = 0, cublas = 0;
  const char *text = "";
  int found = nvrtcVersion(&major, &minor);
  printf("nvrtc %d %d.%d, ", found, major, minor);
  found = curandGetVersion(&curand);
  printf("curand %d %d, ", found, curand);
  found = cublasGetProperty(0, &cublas);
  printf("cublas %d %d, ", found, cublas);
  printf("cublasLt %zu, ", cublasLtGetVersion());
  found = cuInit(0);
  cuGetErrorString(found, &text);
  printf("cuda %d %s\n", found, text);
  return 0;
}
