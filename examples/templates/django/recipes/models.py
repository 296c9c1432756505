from django.db import models


class Recipe(models.Model):
    name = models.CharField(max_length=100, unique=True)
    minutes = models.PositiveSmallIntegerField()
    steps = models.TextField()

    class Meta:
        ordering = ["name"]

    def __str__(self):
        return self.name
