package org.example.rooms;

import java.time.LocalDate;

public record Booking(String room, LocalDate day, String guest) {}
