# Serves runs and audits that are mounted into it:
#   docker build -t heedful .
#   docker run -p 127.0.0.1:8642:8642 -v "$PWD/runs:/runs:ro" heedful /runs/reviews
# It prints the address to open, which holds a token.
FROM python:3.12-slim
RUN useradd --create-home heedful
WORKDIR /home/heedful
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
# PyTorch for CPUs is a tenth of the size of the one for GPUs.
RUN pip install --no-cache-dir torch --index-url https://download.pytorch.org/whl/cpu \
 && pip install --no-cache-dir '.[web]'
USER heedful
EXPOSE 8642
ENTRYPOINT ["heedful", "serve", "--host", "0.0.0.0", "--port", "8642", "--no-browser"]
