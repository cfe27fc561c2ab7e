"""What is fetched and pinned: models by hash, images by digest, patches, mirrors."""
