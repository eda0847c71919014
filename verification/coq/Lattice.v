(* Absolutely convergent sums over the integers, and over vectors of any number of integers, are integrals in the
   sense of [Integral.v]; they do not change under shifts. Nothing about measures is assumed. *)

From Coq Require Import Reals Lra Lia List ZArith.
From Coquelicot Require Import Coquelicot.
From DPADMM Require Import Integral.
Import ListNotations.
Open Scope R_scope.

(* f(0), f(1), ... and f(-1), f(-2), ... *)
Definition upper_half (f : Z -> R) (n : nat) : R := f (Z.of_nat n).
Definition lower_half (f : Z -> R) (n : nat) : R := f (- Z.of_nat (S n))%Z.
Definition summable (f : Z -> R) : Prop :=
  ex_series (fun n => Rabs (upper_half f n)) /\ ex_series (fun n => Rabs (lower_half f n)).
(* The sum of f over all integers. *)
Definition integer_sum (f : Z -> R) : R := Series (upper_half f) + Series (lower_half f).

Lemma series_dominated (u v : nat -> R) : (forall n, Rabs (u n) <= v n) -> ex_series v -> ex_series (fun n => Rabs (u n)).
Proof.
  intros H Hv. apply (ex_series_le (fun n => Rabs (u n)) v); [ | exact Hv ]. intro n.
  unfold norm; simpl; unfold abs; simpl. rewrite Rabs_Rabsolu. apply H.
Qed.

Lemma summable_dominated f g : (forall z, Rabs (f z) <= g z) -> summable g -> summable f.
Proof.
  intros H (G1 & G2). split.
  - apply (series_dominated _ (fun n => Rabs (upper_half g n))); [ | exact G1 ].
    intro n. eapply Rle_trans; [ apply H | apply Rle_abs ].
  - apply (series_dominated _ (fun n => Rabs (lower_half g n))); [ | exact G2 ].
    intro n. eapply Rle_trans; [ apply H | apply Rle_abs ].
Qed.

Lemma summable_ext f g : (forall z, f z = g z) -> summable f -> summable g.
Proof.
  intros H (F1 & F2). split; eapply ex_series_ext; [ | exact F1 | | exact F2 ]; intro n;
    unfold upper_half, lower_half; now rewrite H.
Qed.

Lemma summable_abs f : summable f -> summable (fun z => Rabs (f z)).
Proof.
  intros (F1 & F2). split; [ apply (ex_series_ext _ _ (fun n => eq_sym (Rabs_Rabsolu (upper_half f n))) F1)
    | apply (ex_series_ext _ _ (fun n => eq_sym (Rabs_Rabsolu (lower_half f n))) F2) ].
Qed.

Lemma series_zero : is_series (fun _ : nat => 0) 0.
Proof.
  apply is_series_Reals. intros e He; exists 0%nat; intros n _.
  rewrite (sum_eq_R0 (fun _ : nat => 0)) by reflexivity. unfold R_dist; rewrite Rminus_0_r, Rabs_R0; exact He.
Qed.

Lemma series_scaled c (u : nat -> R) : ex_series u -> ex_series (fun n => c * u n).
Proof. exact (@ex_series_scal_l R_AbsRing R_NormedModule c u). Qed.

Lemma summable_zero : summable (fun _ => 0).
Proof.
  split; (eapply ex_series_ext; [ intro n; unfold upper_half, lower_half; symmetry; apply Rabs_R0 | ]);
    exists 0; exact series_zero.
Qed.

Lemma summable_lin a b f g : summable f -> summable g -> summable (fun z => a * f z + b * g z).
Proof.
  intros (F1 & F2) (G1 & G2).
  assert (H : forall u v : nat -> R, ex_series (fun n => Rabs (u n)) -> ex_series (fun n => Rabs (v n)) ->
    ex_series (fun n => Rabs (a * u n + b * v n))).
  { intros u v Hu Hv. apply (series_dominated _ (fun n => Rabs a * Rabs (u n) + Rabs b * Rabs (v n))).
    - intro n. eapply Rle_trans; [ apply Rabs_triang | ]. rewrite !Rabs_mult. lra.
    - apply (ex_series_plus (fun n => Rabs a * Rabs (u n)) (fun n => Rabs b * Rabs (v n))); now apply series_scaled. }
  split; [ exact (H _ _ F1 G1) | exact (H _ _ F2 G2) ].
Qed.

Lemma summable_pos f : summable f -> summable (fun z => pos (f z)).
Proof.
  intro H. apply (summable_dominated _ (fun z => Rabs (f z))); [ | now apply summable_abs ].
  intro z. rewrite Rabs_right by (apply Rle_ge, pos_nonneg). apply pos_least; [ apply Rabs_pos | apply Rle_abs ].
Qed.

Lemma halves_converge f : summable f -> ex_series (upper_half f) /\ ex_series (lower_half f).
Proof. intros (F1 & F2). split; now apply ex_series_Rabs. Qed.

Lemma integer_sum_lin a b f g : summable f -> summable g ->
  integer_sum (fun z => a * f z + b * g z) = a * integer_sum f + b * integer_sum g.
Proof.
  intros Hf Hg. destruct (halves_converge f Hf) as (F1 & F2), (halves_converge g Hg) as (G1 & G2).
  assert (E : forall u v : nat -> R, ex_series u -> ex_series v ->
    Series (fun n => a * u n + b * v n) = a * Series u + b * Series v).
  { intros u v Hu Hv. rewrite Series_plus; [ now rewrite !Series_scal_l | | ]; now apply series_scaled. }
  unfold integer_sum.
  change (upper_half (fun z => a * f z + b * g z)) with (fun n => a * upper_half f n + b * upper_half g n).
  change (lower_half (fun z => a * f z + b * g z)) with (fun n => a * lower_half f n + b * lower_half g n).
  rewrite !E by assumption. ring.
Qed.

Lemma series_nonneg (u : nat -> R) : ex_series u -> (forall n, 0 <= u n) -> 0 <= Series u.
Proof.
  intros Hu H. rewrite <- (is_series_unique _ _ series_zero).
  apply Series_le; [ intro n; split; [ lra | apply H ] | exact Hu ].
Qed.

Lemma integer_sum_nonneg f : summable f -> (forall z, 0 <= f z) -> 0 <= integer_sum f.
Proof.
  intros Hf H. destruct (halves_converge f Hf). unfold integer_sum.
  apply Rplus_le_le_0_compat; apply series_nonneg; auto; intro; apply H.
Qed.

Lemma integer_sum_ext f g : (forall z, f z = g z) -> integer_sum f = integer_sum g.
Proof. intro H. unfold integer_sum. f_equal; apply Series_ext; intro n; apply H. Qed.

(* Sums over the integers, as an integral. *)
Definition integers : integral Z :=
  Integral Z summable integer_sum summable_zero summable_ext summable_lin summable_pos integer_sum_lin
    integer_sum_nonneg.

Lemma shift_up f : summable f -> summable (fun z => f (z - 1)%Z) /\ integer_sum (fun z => f (z - 1)%Z) = integer_sum f.
Proof.
  intro Hf. destruct Hf as (F1 & F2). pose proof (halves_converge f (conj F1 F2)) as (C1 & C2).
  assert (E0 : upper_half (fun z => f (z - 1)%Z) 0 = lower_half f 0) by (unfold upper_half, lower_half; f_equal; lia).
  assert (E1 : forall k, upper_half (fun z => f (z - 1)%Z) (S k) = upper_half f k)
    by (intro k; unfold upper_half; f_equal; lia).
  assert (E2 : forall k, lower_half (fun z => f (z - 1)%Z) k = lower_half f (S k))
    by (intro k; unfold lower_half; f_equal; lia).
  assert (S1 : summable (fun z => f (z - 1)%Z)).
  { split.
    - apply ex_series_incr_1. apply (ex_series_ext (fun n => Rabs (upper_half f n))); [ | exact F1 ].
      intro k. now rewrite E1.
    - apply (ex_series_ext (fun n => Rabs (lower_half f (S n)))); [ intro k; now rewrite E2 | ].
      now apply (proj1 (ex_series_incr_1 (fun n => Rabs (lower_half f n)))). }
  split; [ exact S1 | ]. destruct (halves_converge _ S1) as (D1 & D2). unfold integer_sum.
  rewrite (Series_incr_1 (upper_half (fun z => f (z - 1)%Z))) by exact D1.
  rewrite E0, (Series_ext _ _ E1), (Series_ext _ _ E2), (Series_incr_1 (lower_half f)) by exact C2. ring.
Qed.

Lemma mirrored f : summable f -> summable (fun z => f (- z)%Z) /\ integer_sum (fun z => f (- z)%Z) = integer_sum f.
Proof.
  intro Hf. destruct Hf as (F1 & F2). pose proof (halves_converge f (conj F1 F2)) as (C1 & C2).
  assert (E0 : upper_half (fun z => f (- z)%Z) 0 = upper_half f 0) by reflexivity.
  assert (E1 : forall k, upper_half (fun z => f (- z)%Z) (S k) = lower_half f k) by reflexivity.
  assert (E2 : forall k, lower_half (fun z => f (- z)%Z) k = upper_half f (S k))
    by (intro k; unfold lower_half, upper_half; f_equal; lia).
  assert (S1 : summable (fun z => f (- z)%Z)).
  { split.
    - apply ex_series_incr_1. apply (ex_series_ext (fun n => Rabs (lower_half f n))); [ | exact F2 ].
      intro k. now rewrite E1.
    - apply (ex_series_ext (fun n => Rabs (upper_half f (S n)))); [ intro k; now rewrite E2 | ].
      now apply (proj1 (ex_series_incr_1 (fun n => Rabs (upper_half f n)))). }
  split; [ exact S1 | ]. destruct (halves_converge _ S1) as (D1 & D2). unfold integer_sum.
  rewrite (Series_incr_1 (upper_half (fun z => f (- z)%Z))) by exact D1.
  rewrite E0, (Series_ext _ _ E1), (Series_ext _ _ E2), (Series_incr_1 (upper_half f)) by exact C1. ring.
Qed.

Lemma shifted_nat n f : summable f ->
  summable (fun z => f (z - Z.of_nat n)%Z) /\ integer_sum (fun z => f (z - Z.of_nat n)%Z) = integer_sum f.
Proof.
  intro Hf. induction n as [ | n (S1 & E1) ].
  - assert (H : forall z, f z = f (z - Z.of_nat 0)%Z) by (intro z; f_equal; lia).
    split; [ exact (summable_ext _ _ H Hf) | symmetry; now apply integer_sum_ext ].
  - destruct (shift_up _ S1) as (S2 & E2).
    assert (H : forall z, f (z - 1 - Z.of_nat n)%Z = f (z - Z.of_nat (S n))%Z) by (intro z; f_equal; lia).
    split; [ exact (summable_ext _ _ H S2) | rewrite <- E1, <- E2; symmetry; now apply integer_sum_ext ].
Qed.

(* Sums over all integers do not change under shifts. *)
Lemma shifted (m : Z) f : summable f ->
  summable (fun z => f (z - m)%Z) /\ integer_sum (fun z => f (z - m)%Z) = integer_sum f.
Proof.
  intro Hf. destruct (Z_le_gt_dec 0 m) as [ H | H ].
  - rewrite <- (Z2Nat.id m H). now apply shifted_nat.
  - destruct (mirrored f Hf) as (S1 & E1).
    destruct (shifted_nat (Z.to_nat (- m)) _ S1) as (S2 & E2). destruct (mirrored _ S2) as (S3 & E3).
    assert (E : forall z, f (- (- z - Z.of_nat (Z.to_nat (- m))))%Z = f (z - m)%Z) by (intro z; f_equal; lia).
    split; [ exact (summable_ext _ _ E S3) | ].
    rewrite <- (integer_sum_ext _ _ E), E3, E2. exact E1.
Qed.

(* All functions that are dominated by an integrable one are integrable: for sums nothing else can go wrong. *)
Definition complete {X} (I : integral X) : Prop := forall f g, (forall x, Rabs (f x) <= g x) -> intg I g -> intg I f.

Lemma complete_abs {X} (I : integral X) f : intg I f -> intg I (fun x => Rabs (f x)).
Proof.
  intro H. eapply intg_ext; [ | exact (intg_lin _ I 1 1 _ _ (intg_pos _ I _ H)
    (intg_pos _ I _ (intg_scal I (-1) _ H))) ].
  intro x; simpl. replace (-1 * f x) with (- f x) by ring. rewrite (pos_opp (f x)) at 1.
  destruct (Rle_dec 0 (f x)); [ rewrite pos_of_nonpos, Rabs_right by lra | rewrite pos_of_nonneg, Rabs_left by lra ]; ring.
Qed.

(* The integral that has one point only, the empty vector. *)
Definition at_empty : integral (list Z).
Proof.
  refine (Integral (list Z) (fun _ => True) (fun f => f []) _ _ _ _ _ _); auto.
Defined.

Section OneMore.
  Variable J : integral (list Z).
  Hypothesis HJ : complete J.

  Definition longer_intg (f : list Z -> R) : Prop :=
    (forall z, intg J (fun v => f (z :: v))) /\ summable (fun z => int J (fun v => Rabs (f (z :: v)))).
  Definition longer_int (f : list Z -> R) : R := integer_sum (fun z => int J (fun v => f (z :: v))).

  Lemma longer_dominated f g : (forall v, Rabs (f v) <= g v) -> longer_intg g -> longer_intg f.
  Proof.
    intros H (G1 & G2). assert (F1 : forall z, intg J (fun v => f (z :: v))).
    { intro z. apply (HJ _ (fun v => g (z :: v))); [ intro; apply H | apply G1 ]. }
    split; [ exact F1 | ]. apply (summable_dominated _ (fun z => int J (fun v => Rabs (g (z :: v))))); [ | exact G2 ].
    intro z. assert (A := complete_abs J _ (F1 z)). rewrite Rabs_right.
    - apply int_le; [ exact A | now apply complete_abs | ]. intro v. eapply Rle_trans; [ apply H | apply Rle_abs ].
    - apply Rle_ge, (int_nonneg _ J); [ exact A | intro; apply Rabs_pos ].
  Qed.

  Lemma longer_sections f : longer_intg f -> summable (fun z => int J (fun v => f (z :: v))).
  Proof.
    intros (F1 & F2). apply (summable_dominated _ (fun z => int J (fun v => Rabs (f (z :: v))))); [ | exact F2 ].
    intro z. assert (A := complete_abs J _ (F1 z)). apply Rabs_le. split.
    - replace (- int J (fun v => Rabs (f (z :: v)))) with (int J (fun v => -1 * Rabs (f (z :: v))))
        by (rewrite (int_scal J (-1)) by exact A; ring).
      apply int_le; [ now apply intg_scal | apply F1 | ]. intro v. pose proof (Rle_abs (- f (z :: v))).
      rewrite Rabs_Ropp in *. lra.
    - apply int_le; [ apply F1 | exact A | intro; apply Rle_abs ].
  Qed.

  Lemma longer_zero : longer_intg (fun _ => 0).
  Proof.
    split; [ intro; apply intg_zero | ]. apply (summable_ext (fun _ => 0)); [ | exact summable_zero ].
    intro z. rewrite <- (int_zero J) at 1. apply int_ext; [ apply intg_zero | intro; now rewrite Rabs_R0 ].
  Qed.

  Lemma longer_ext f g : (forall v, f v = g v) -> longer_intg f -> longer_intg g.
  Proof.
    intros H (F1 & F2). split.
    - intro z. apply (intg_ext _ J (fun v => f (z :: v))); [ intro; apply H | apply F1 ].
    - apply (summable_ext (fun z => int J (fun v => Rabs (f (z :: v))))); [ | exact F2 ]. intro z.
      apply int_ext; [ now apply complete_abs | intro; now rewrite H ].
  Qed.

  Lemma longer_abs f : longer_intg f -> longer_intg (fun v => Rabs (f v)).
  Proof.
    intros (F1 & F2). split; [ intro z; now apply (complete_abs J (fun v => f (z :: v))) | ].
    apply (summable_ext (fun z => int J (fun v => Rabs (f (z :: v))))); [ | exact F2 ]. intro z.
    apply int_ext; [ now apply complete_abs | intro; now rewrite Rabs_Rabsolu ].
  Qed.

  Lemma longer_lin a b f g : longer_intg f -> longer_intg g -> longer_intg (fun v => a * f v + b * g v).
  Proof.
    intros Hf Hg. apply (longer_dominated _ (fun v => Rabs a * Rabs (f v) + Rabs b * Rabs (g v))).
    - intro v. eapply Rle_trans; [ apply Rabs_triang | ]. rewrite !Rabs_mult. lra.
    - destruct Hf as (F1 & F2), Hg as (G1 & G2).
      assert (A : forall z, intg J (fun v => Rabs (f (z :: v)))) by (intro z; now apply (complete_abs J (fun v => f (z :: v)))).
      assert (B : forall z, intg J (fun v => Rabs (g (z :: v)))) by (intro z; now apply (complete_abs J (fun v => g (z :: v)))).
      split; [ intro z; now apply intg_lin | ].
      apply (summable_ext (fun z => Rabs a * int J (fun v => Rabs (f (z :: v))) + Rabs b * int J (fun v => Rabs (g (z :: v)))));
        [ | now apply summable_lin ].
      intro z. rewrite <- (int_lin _ J) by auto. apply int_ext; [ now apply intg_lin | ]. intro v. symmetry.
      apply Rabs_right. pose proof (Rabs_pos a); pose proof (Rabs_pos b); pose proof (Rabs_pos (f (z :: v)));
        pose proof (Rabs_pos (g (z :: v))). nra.
  Qed.

  Lemma longer_pos f : longer_intg f -> longer_intg (fun v => pos (f v)).
  Proof.
    intro H. apply (longer_dominated _ (fun v => Rabs (f v))); [ | now apply longer_abs ].
    intro v. rewrite Rabs_right by (apply Rle_ge, pos_nonneg). apply pos_least; [ apply Rabs_pos | apply Rle_abs ].
  Qed.

  Lemma longer_int_lin a b f g : longer_intg f -> longer_intg g ->
    longer_int (fun v => a * f v + b * g v) = a * longer_int f + b * longer_int g.
  Proof.
    intros Hf Hg. unfold longer_int. rewrite <- integer_sum_lin by now apply longer_sections.
    apply integer_sum_ext. intro z. apply (int_lin _ J); [ apply Hf | apply Hg ].
  Qed.

  Lemma longer_int_nonneg f : longer_intg f -> (forall v, 0 <= f v) -> 0 <= longer_int f.
  Proof.
    intros Hf H. apply integer_sum_nonneg; [ now apply longer_sections | ].
    intro z. apply (int_nonneg _ J); [ apply Hf | intro; apply H ].
  Qed.

  (* Sums over vectors with one more coordinate. *)
  Definition one_more : integral (list Z) :=
    Integral (list Z) longer_intg longer_int longer_zero longer_ext longer_lin longer_pos longer_int_lin
      longer_int_nonneg.
End OneMore.

Lemma empty_complete : complete at_empty.
Proof. intros f g _ _. exact Logic.I. Qed.

Fixpoint lattices (k : nat) : {J : integral (list Z) | complete J} :=
  match k with
  | O => exist _ at_empty empty_complete
  | S k' => exist _ (one_more (proj1_sig (lattices k')) (proj2_sig (lattices k')))
              (longer_dominated (proj1_sig (lattices k')) (proj2_sig (lattices k')))
  end.

(* Sums over all vectors of k integers. *)
Definition lattice (k : nat) : integral (list Z) := proj1_sig (lattices k).

Lemma lattice_complete k : complete (lattice k).
Proof. exact (proj2_sig (lattices k)). Qed.

(** Settles: GRID. The lattice integral is the iterated sum. *)
Theorem lattice_is_iterated_sum :
  forall (k : nat) (f : list Z -> R), int (lattice 0) f = f [] /\
  int (lattice (S k)) f = integer_sum (fun z => int (lattice k) (fun v => f (z :: v))).
Proof. intros. split; reflexivity. Qed.

(* Only vectors of length k count. *)
Lemma lattice_ext k f g : (forall v, length v = k -> f v = g v) -> int (lattice k) f = int (lattice k) g.
Proof.
  revert f g; induction k as [ | k IH ]; intros f g H; [ now apply H | ].
  change (integer_sum (fun z => int (lattice k) (fun v => f (z :: v)))
    = integer_sum (fun z => int (lattice k) (fun v => g (z :: v)))).
  apply integer_sum_ext. intro z. apply IH. intros v Hv. apply H. simpl; now rewrite Hv.
Qed.

(* The vector v moved by m. *)
Fixpoint moved (m : nat -> Z) (v : list Z) : list Z :=
  match v with [] => [] | z :: v' => (m O + z)%Z :: moved (fun i => m (S i)) v' end.

Lemma moved_length m v : length (moved m v) = length v.
Proof. revert m; induction v; intro m; simpl; [ reflexivity | now rewrite IHv ]. Qed.

Lemma moved_nth m v i : (i < length v)%nat -> nth i (moved m v) 0%Z = (m i + nth i v 0)%Z.
Proof.
  revert m i; induction v as [ | z v IH ]; intros m i H; simpl in H; [ lia | ].
  destruct i as [ | i ]; [ reflexivity | ]. simpl. apply (IH (fun i => m (S i))). lia.
Qed.

(* Sums over all vectors of integers do not change under shifts. *)
Lemma lattice_moved k m f : intg (lattice k) f ->
  intg (lattice k) (fun v => f (moved m v)) /\ int (lattice k) (fun v => f (moved m v)) = int (lattice k) f.
Proof.
  revert m f; induction k as [ | k IH ]; intros m f H; [ now split | ].
  assert (C : complete (lattice k)) by apply lattice_complete.
  destruct H as (F1 & F2). fold (lattice k) in *.
  assert (F3 := longer_sections (lattice k) f (conj F1 F2)).
  assert (Sh : forall h : Z -> R, summable h ->
    summable (fun z => h (m O + z)%Z) /\ integer_sum (fun z => h (m O + z)%Z) = integer_sum h).
  { intros h Hh. destruct (shifted (- m O) h Hh) as (S1 & E1).
    assert (E : forall z, h (z - - m O)%Z = h (m O + z)%Z) by (intro; f_equal; lia).
    split; [ exact (summable_ext _ _ E S1) | rewrite <- E1; symmetry; now apply integer_sum_ext ]. }
  split.
  - split; fold (lattice k).
    + intro z. apply (IH (fun i => m (S i)) (fun v => f ((m O + z)%Z :: v))), F1.
    + destruct (Sh _ F2) as (S1 & _). eapply summable_ext; [ | exact S1 ]. intro z. symmetry.
      apply (IH (fun i => m (S i)) (fun v => Rabs (f ((m O + z)%Z :: v)))). apply complete_abs, F1.
  - change (integer_sum (fun z => int (lattice k) (fun v => f ((m O + z)%Z :: moved (fun i => m (S i)) v)))
      = integer_sum (fun z => int (lattice k) (fun v => f (z :: v)))).
    destruct (Sh _ F3) as (_ & <-). apply integer_sum_ext. intro z.
    apply (IH (fun i => m (S i)) (fun v => f ((m O + z)%Z :: v))), F1.
Qed.
